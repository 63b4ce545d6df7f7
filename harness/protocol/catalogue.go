// Package protocol holds the facts of the Agent Hooks Protocol as data: events
// and what each allows, the codes of faults, the shapes that travel between
// packages. It does no I/O and imports the standard library only.
package protocol

import "iter"

// EventType is a canonical event name.
type EventType string

// Effect is one of the eight effect families.
type Effect string

// The effect families (events.md section 6).
const (
	EffectAllow   Effect = "allow"
	EffectDeny    Effect = "deny"
	EffectAsk     Effect = "ask"
	EffectModify  Effect = "modify"
	EffectReturn  Effect = "return"
	EffectMessage Effect = "message"
	EffectFlow    Effect = "flow"
	EffectInject  Effect = "inject"
)

// ValueKind is what a modification's or a return's value must be.
type ValueKind uint8

// The kinds of values. Merging appends to Messages and TextParts, and is
// shallow for the objects (R33, R36).
const (
	NoValue ValueKind = iota
	AnyJSON
	FreeObject
	Messages
	TextParts
	WorkspaceChange
	FormAnswers
	ElicitResult
)

// Target is one thing that an event lets a backend modify.
type Target struct {
	Name string
	Kind ValueKind
	// Path is where it lands in the event; the empty path is resolved by the
	// boundary itself (elicitation answers live inside a text).
	Path []string
}

// Slot is one place of an event where content parts live. Path steps name
// members, "*" any element. Messages says that the path leads to messages, so
// that the parts are below it.
type Slot struct {
	Path     []string
	Messages bool
	TextOnly bool
}

// Row is everything that makes one event differ from another for settlement,
// schema and capabilities alike (events.md section 2).
type Row struct {
	Type      EventType
	Intercept bool
	Effects   []Effect // besides message, which every interceptable event has
	Targets   []Target
	Stop      bool
	Continue  bool
	Return    ValueKind // also the type of the candidate's value
	Slots     []Slot
}

// Allows reports whether the event defines the effect.
func (r *Row) Allows(e Effect) bool {
	if e == EffectMessage {
		return r.Intercept
	}
	for _, have := range r.Effects {
		if have == e {
			return true
		}
	}
	return false
}

// Target is the modification target of that name, or nil.
func (r *Row) Target(name string) *Target {
	for i := range r.Targets {
		if r.Targets[i].Name == name {
			return &r.Targets[i]
		}
	}
	return nil
}

// Lookup is the event's row, nil for a name that the protocol does not know.
func Lookup(t EventType) *Row {
	i, ok := index[t]
	if !ok {
		return nil
	}
	return &rows[i]
}

// Rows walks the catalogue in its own order, which manifests follow (R99).
func Rows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}

// The catalogue never changes after init.
var index = func() map[EventType]int {
	m := make(map[EventType]int, len(rows))
	for i := range rows {
		m[rows[i].Type] = i
	}
	return m
}()
