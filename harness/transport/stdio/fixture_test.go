package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hookgate/hookgate/harness/transport/stdio/watch"
)

// The backends of these tests are the test binary itself, started again with
// HOOKGATE_FIXTURE set.
func TestMain(m *testing.M) {
	switch os.Getenv("HOOKGATE_FIXTURE") {
	case "":
		goleak.VerifyTestMain(m)
	case "serve":
		serve()
	case "observer":
		in, _ := io.ReadAll(os.Stdin)
		report(fmt.Sprintf("read %d", len(in)))
	case "parent":
		parent()
	case "fixed":
		fixed()
	case "sleeper":
		forever()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		serve()
		report("end of input")
		forever()
	case "polite":
		serve()
		report("end of input")
	}
	os.Exit(0)
}

type call struct {
	ID     json.RawMessage `json:"id"`
	Params struct {
		Do  string `json:"do"`
		Tag string `json:"tag"`
		N   int    `json:"n"`
	} `json:"params"`
}

// serve does what each message asks for.
func serve() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var c call
		if err := json.Unmarshal(line, &c); err != nil {
			panic(err)
		}
		act(c)
	}
}

// fixed answers without parsing, so that a benchmark measures the pool.
func fixed() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	line := []byte(`{"jsonrpc":"2.0","id":"01JD7Q6Z1W8Y2V3T4S5R6P7N8M","result":{"protocolVersion":"draft","effects":[]}}` + "\n")
	for {
		if _, err := in.ReadSlice('\n'); err != nil {
			return
		}
		_, _ = os.Stdout.Write(line)
	}
}

func act(c call) {
	tag := c.Params.Tag
	switch c.Params.Do {
	case "hang":
		report("hang " + tag)
		forever()
	case "report":
		report(tag)
	case "noise":
		noise(c)
		answer(c.ID, tag, "\n")
	case "exit":
		answer(c.ID, tag, "\n")
		os.Exit(3)
	case "die":
		os.Exit(3)
	case "closeout":
		_ = os.Stdout.Close()
		forever()
	case "crlf":
		answer(c.ID, tag, "\r\n")
	case "partial":
		answer(c.ID, tag, "")
		report("partial " + tag)
		forever()
	case "id":
		// Answers under the id given as tag, then under the right one.
		answer(json.RawMessage(tag), "wrong", "\n")
		answer(c.ID, "right", "\n")
	case "size":
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"pad":""}}`, c.ID)
		pad := strings.Repeat("x", c.Params.N-len(line))
		_, _ = os.Stdout.WriteString(strings.Replace(line, `""`, `"`+pad+`"`, 1) + "\n")
	case "stderr":
		_, _ = os.Stderr.Write(bytes.Repeat([]byte("0123456789abcde\n"), c.Params.N/16))
		_, _ = os.Stderr.Write(bytes.Repeat([]byte("y"), c.Params.N))
		answer(c.ID, tag, "\n")
	case "twice":
		answer(c.ID, tag, "\n")
		answer(c.ID, tag+" again", "\n")
		report("twice")
	case "half":
		answer(c.ID, tag, "\n")
		answer(c.ID, "stale", "") // its line feed comes with the next message
		report("half")
	case "finish":
		_, _ = os.Stdout.WriteString("\n")
		answer(c.ID, tag, "\n")
	case "grandchild", "escape":
		cmd := exec.CommandContext(context.Background(), os.Args[0])
		cmd.Env = []string{"HOOKGATE_FIXTURE=sleeper"}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if c.Params.Do == "escape" {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		answer(c.ID, fmt.Sprint(cmd.Process.Pid), "\n")
	case "env":
		env, _ := json.Marshal(os.Environ())
		answer(c.ID, string(env), "\n")
	case "flood":
		for range c.Params.N {
			_, _ = os.Stdout.WriteString(strings.Repeat("n", 1023) + "\n")
		}
		answer(c.ID, tag, "\n")
	default:
		answer(c.ID, tag, "\n")
	}
}

func answer(id json.RawMessage, tag, end string) {
	quoted, _ := json.Marshal(tag)
	_, _ = fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":{"tag":%s,"pid":%d}}%s`, id, quoted, os.Getpid(), end)
}

func noise(c call) {
	for _, line := range []string{
		"plain text", "", "[]", "null", "42", `{"jsonrpc":"2.0"}`, `{"id":null,"result":{}}`,
		`{"id":"other","result":{}}`, "\xff\xfe", `{"id":` + string(c.ID) + `,"x":"` + "\xff" + `"}`,
		`{"id":` + string(c.ID), `{"id":` + string(c.ID) + `} trailing`, `[{"id":` + string(c.ID) + `}]`,
		`{"inner":{"id":` + string(c.ID) + `}}`,
	} {
		_, _ = os.Stdout.WriteString(line + "\n")
	}
}

// report tells the test, by a socket, that something has happened.
func report(event string) {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "unix", os.Getenv("HOOKGATE_EVENTS"))
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, event)
	_ = conn.Close()
}

func forever() { <-time.After(time.Hour) }

// parent is a gateway to be killed: it has one child, and that one a child too.
func parent() {
	w := watch.Start()
	p, err := New(Options{
		Command: os.Args[0], Env: map[string]string{"HOOKGATE_FIXTURE": "serve"}, Watcher: w,
	})
	if err != nil {
		panic(err)
	}
	r, err := p.Exchange(context.Background(), message(`"g"`, "grandchild", "", 0))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d %s\n", w.PID(), r.Body)
	forever()
}
