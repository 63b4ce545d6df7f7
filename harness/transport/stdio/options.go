// Package stdio owns the processes of one stdio backend: it starts them, speaks
// newline-delimited JSON-RPC with them, and leaves none behind.
package stdio

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/harness/transport/stdio/watch"
)

const (
	defaultMaxRecord = 4 << 20
	defaultStopGrace = 5 * time.Second
)

// Options describe one stdio backend.
type Options struct {
	// Command is executed directly, never through a shell.
	Command string
	Args    []string
	// Dir is the working directory; empty means the gateway's own.
	Dir string
	// Env is set on top of the inherited names, literally: "$HOME" stays five
	// characters.
	Env map[string]string
	// InheritEnv hands on the gateway's whole environment instead of the short
	// allowlist. The gateway's environment often holds secrets.
	InheritEnv bool
	// PerEvent runs one process per message.
	PerEvent bool
	// Processes bounds how many run at once. Default 1.
	Processes int
	// MaxRecord bounds one line of output, its line feed excluded. Default 4 MiB.
	MaxRecord int
	// StopGrace is how long Close waits after closing standard input, and again
	// after SIGTERM. Default 5 s.
	StopGrace time.Duration
	// Logger gets noise and standard error at debug level; nil discards it.
	Logger *slog.Logger
	// Watcher, if set, ends the process groups should the gateway be killed.
	Watcher *watch.Watcher
}

func (o *Options) setDefaults() {
	if o.Processes <= 0 {
		o.Processes = 1
	}
	if o.MaxRecord <= 0 {
		o.MaxRecord = defaultMaxRecord
	}
	if o.StopGrace <= 0 {
		o.StopGrace = defaultStopGrace
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// inherited are the names a child gets from the gateway (transports.md
// section 3). Tokens and keys of the gateway are none of a backend's business.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP",
}

// environment resolves a child's environment. It is called once per pool, so
// that later changes of the gateway's environment split no backend in two.
func environment(o Options) []string {
	env := make(map[string]string)
	for _, entry := range os.Environ() {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		if o.InheritEnv || slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			env[name] = value
		}
	}
	maps.Copy(env, o.Env)
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}
