package watch

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSurvivors(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []int
	}{
		{"nothing", "", nil},
		{"added and removed", "+10\n+11\n-10\n", []int{11}},
		{"added again", "+10\n-10\n+10\n", []int{10}},
		{"everybody", "+1\n+0\n+-1\n", nil},
		{"junk", "+x\n\n10\n*10\n+\n", nil},
		{"cut short", "+10\n+1", []int{10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(survivors(strings.NewReader(tt.in))))
			if !slices.Equal(got, tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLazyAndCounted(t *testing.T) {
	w := Start()
	if w.PID() != 0 {
		t.Fatal("started without a group")
	}
	other := w.Retain()
	// A group that exists nowhere: ids end far below.
	const group = 1 << 30
	if err := w.Add(group); err != nil {
		t.Fatal(err)
	}
	pid := w.PID()
	if pid == 0 {
		t.Fatal("not started")
	}
	_ = w.Close()
	if w.PID() != pid {
		t.Fatal("ended with a reference left")
	}
	_ = other.Close()
	_ = other.Close()
	if !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		t.Fatal("still running after the last Close")
	}
	if err := w.Add(group); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if err := Start().Add(1); err == nil {
		t.Fatal("group 1 accepted")
	}
}

// A watcher that died is replaced by one that knows all groups.
func TestReplaced(t *testing.T) {
	w := Start()
	defer func() { _ = w.Close() }()
	const group = 1 << 30
	if err := w.Add(group); err != nil {
		t.Fatal(err)
	}
	pid := w.PID()
	_ = syscall.Kill(pid, syscall.SIGKILL)
	select {
	case <-w.proc.done:
	case <-time.After(10 * time.Second):
		t.Fatal("not reaped")
	}
	w.Remove(group) // to nobody
	if err := w.Add(group + 1); err != nil {
		t.Fatal(err)
	}
	if got := w.PID(); got == pid || got == 0 {
		t.Fatalf("got process %d after %d", got, pid)
	}
}
