package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/runs"
	"github.com/segue-go/segue/machine"
)

// TestScripts runs the scripts in testdata/script. Besides testscript's own commands they have
//
//	exits CODE COMMAND...       run a command that must exit with this code
//	field FILE PATH VALUE       a field of a JSON text, such as usage.input or messages.0.role, has
//	                            this value
//	events FILE                 a text is what --output jsonl writes
//	answers ANSWER...           answer what the last run of the output of segue runs --output json
//	                            waits for that takes it
//	damage FILE                 damage the head of the last run in a file of runs
//	modeof FILE MODE            the file has this mode
//	serverin FILE...            put the address of the server into a file, for the word SERVER
//
// A server at $SERVER, which is http://$ADDRESS, answers the n-th request with the HTTP response in
// the file replies/n, and writes the request to requests/n. The configuration testdata/segue.yaml
// is at $CONFIG; an MCP server at $MCP, which serverin writes for MCPADDRESS, takes the key
// secret-1; its models are asked at OPENAI_BASE_URL.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			server := provider(env.WorkDir)
			env.Defer(server.Close)
			env.Setenv("SERVER", server.URL)
			remote := mcpOverHTTP("secret-1")
			env.Defer(remote.Close)
			env.Setenv("MCP", remote.URL)
			env.Setenv("ADDRESS", strings.TrimPrefix(server.URL, "http://"))
			env.Setenv("GORACE", noSleep)
			env.Setenv("GOGC", os.Getenv("GOGC"))
			config, err := filepath.Abs("testdata/segue.yaml")
			if err != nil {
				return err
			}
			env.Setenv("CONFIG", config)
			for name, folder := range homeIn(env.WorkDir) {
				env.Setenv(name, folder)
			}
			return os.Mkdir(filepath.Join(env.WorkDir, "requests"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"field":    field,
			"events":   events,
			"serverin": serverIn,
			"answers":  answers,
			"modeof":   modeOf,
			"damage":   damage,
		},
	})
}

// noSleep is for GORACE: a process under the race detector otherwise sleeps for a second when it
// ends.
const noSleep = "atexit_sleep_ms=0"

// provider is the server of a script in dir. It keeps no connection, so that none is left behind.
func provider(dir string) *httptest.Server {
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := strconv.FormatInt(asked.Add(1), 10)
		if err := serve(w, r, filepath.Join(dir, "replies", n), filepath.Join(dir, "requests", n)); err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
		}
	}))
	server.Config.SetKeepAlivesEnabled(false)
	server.Start()
	return server
}

func serve(w http.ResponseWriter, r *http.Request, reply, request string) error {
	dump, err := httputil.DumpRequest(r, true)
	if err != nil {
		return err
	}
	if err := os.WriteFile(request, dump, 0o600); err != nil {
		return err
	}
	f, err := os.Open(reply)
	if err != nil {
		return err
	}
	defer f.Close()
	resp, err := http.ReadResponse(bufio.NewReader(f), r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, err = io.Copy(w, resp.Body)
	return err
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Check(err)
		}
		code = exit.ExitCode()
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func serverIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serverin FILE...")
	}
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "SERVER", ts.Getenv("SERVER"))
		text = strings.ReplaceAll(text, "MCPADDRESS", ts.Getenv("MCP"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// answers answers the first wait of the run that the last output lists, of the kind that takes the
// answer.
func answers(ts *testscript.TestScript, neg bool, args []string) {
	var runs []runs.RunRecord
	if neg || len(args) == 0 || json.Unmarshal([]byte(ts.Getenv("RUNS")), &runs) != nil && json.Unmarshal([]byte(ts.ReadFile("stdout")), &runs) != nil {
		ts.Fatalf("usage: answers ANSWER..., after segue runs --output json")
	}
	text, err := json.Marshal(runs)
	ts.Check(err)
	ts.Setenv("RUNS", string(text))
	for _, w := range runs[0].Waits {
		if approval := w.Kind == machine.WaitApproval; approval == (args[0] == "yes" || args[0] == "no") {
			ts.Check(ts.Exec("segue", append([]string{"answer", runs[0].Run, w.ID}, args...)...))
			return
		}
	}
	ts.Fatalf("nothing waits for %s", args[0])
}

// damage changes a byte of the head of the last run.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage FILE")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.ExecContext(context.Background(), `UPDATE runs SET header = '?' || header WHERE id = (SELECT max(id) FROM runs)`)
	ts.Check(err)
}

func modeOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: modeof FILE MODE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[1] {
		ts.Fatalf("the mode of %s is %s", args[0], got)
	}
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: field FILE PATH VALUE")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for name := range strings.SplitSeq(args[1], ".") {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[name]
		case []any:
			i, err := strconv.Atoi(name)
			ts.Check(err)
			v = parent[i]
		default:
			ts.Fatalf("%s: %q is a field of no object", args[1], name)
		}
	}
	if got := fmt.Sprint(v); (got == args[2]) == neg {
		ts.Fatalf("%s is %s", args[1], got)
	}
}

// events checks that each line is an event with the fields that are promised, from run_started to
// run_finished.
func events(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: events FILE")
	}
	var kinds []machine.EventKind
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var e struct {
			Run, Frame, Time, Kind *string
			Depth, Seq             *int
			Record, Index          int
			Text                   string
			Detail                 map[string]any
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		ts.Check(d.Decode(&e))
		if e.Run == nil || e.Frame == nil || e.Time == nil || e.Kind == nil || e.Depth == nil || e.Seq == nil {
			ts.Fatalf("a field is missing: %s", line)
		}
		if delta := strings.HasSuffix(*e.Kind, "_delta"); delta == (e.Detail != nil) || delta && e.Text == "" {
			ts.Fatalf("a delta has a text, and all others a detail: %s", line)
		}
		kinds = append(kinds, machine.EventKind(*e.Kind))
	}
	for i, k := range kinds {
		if (k == machine.EventRunStarted) != (i == 0) || (k == machine.EventRunFinished) != (i == len(kinds)-1) {
			ts.Fatalf("event %d is a %s: %v", i, k, kinds)
		}
	}
	if len(kinds) < 2 {
		ts.Fatalf("only %d events", len(kinds))
	}
}
