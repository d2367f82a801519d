package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
)

// server is a provider whose n-th answer is the n-th of those it is given. It keeps what it was
// asked.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []string // a message, as JSON; a number is a status
	requests []string // key and body
	headers  []http.Header
}

func newServer(t *testing.T, answers ...string) *server {
	t.Helper()
	s := &server{answers: answers}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.headers = append(s.headers, r.Header.Clone())
	s.requests = append(s.requests, "key="+r.Header.Get("Authorization")+" "+string(body))
	switch {
	case err != nil || n >= len(s.answers):
		http.Error(w, "no more answers", http.StatusTeapot)
	case !strings.HasPrefix(s.answers[n], "{"):
		http.Error(w, `{"error":{"message":"broken"}}`, http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"r","model":"m","choices":[{"index":0,"message":`+s.answers[n]+`,"finish_reason":"stop"}]}`) // the client is there
	}
}

// says and calls are answers.
func says(text string) string {
	data, _ := json.Marshal(map[string]any{"role": "assistant", "content": text}) // it is a text
	return string(data)
}

func calls(name, arguments string) string {
	call := map[string]any{"id": "c1", "type": "function", "function": map[string]any{"name": name, "arguments": arguments}}
	data, _ := json.Marshal(map[string]any{"role": "assistant", "tool_calls": []any{call}}) // they are texts
	return string(data)
}

// outcomeOf is what a command line came to.
type outcomeOf struct {
	code           int
	stdout, stderr string
}

// segue carries out a command line with a configuration.
func segue(t *testing.T, config string, env map[string]string, args ...string) outcomeOf {
	t.Helper()
	file := filepath.Join(t.TempDir(), "segue.yaml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	var stdout, stderr bytes.Buffer
	args = append([]string{"run", "--config", file}, args...)
	code := execute(args, strings.NewReader(""), &stdout, &stderr, func(name string) string { return env[name] })
	return outcomeOf{code, stdout.String(), stderr.String()}
}

// The first server fails, the second one answers: each is asked for its own model, with its own
// key.
func TestAgents_fallback(t *testing.T) {
	first, second := newServer(t, "500", "500"), newServer(t, says("Hello."))
	got := segue(t, `
models:
  a: {model: a-1, base_url: `+first.URL+`, api_key_env: KEY_A, limits: {retries: -1}, fallbacks: [b, c]}
  b: {model: b-1, base_url: `+first.URL+`, limits: {retries: -1, requests_per_minute: 6000}}
  c: {model: c-1, base_url: `+second.URL+`, api_key_env: KEY_C, limits: {timeout: 10s}}
agents: {x: {model: a}}
`, map[string]string{"KEY_A": "canary-a", "KEY_C": "canary-c"}, "Say hello")
	require.Equal(t, 0, got.code, got.stderr)
	require.Equal(t, "Hello.\n", got.stdout)
	require.NotContains(t, got.stderr, "canary")
	require.Len(t, first.requests, 2)
	require.Contains(t, first.requests[0], "key=Bearer canary-a ")
	require.Contains(t, first.requests[0], `"model":"a-1"`)
	require.Contains(t, first.requests[1], `"model":"b-1"`)
	require.Contains(t, second.requests[0], "key=Bearer canary-c ")
	require.Contains(t, second.requests[0], `"model":"c-1"`)
}

// A server that the file names is sent the key that the file names, and no other.
func TestAgents_keys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary-openai")
	env := map[string]string{"OPENAI_API_KEY": "canary-openai", "OWN": "canary-own"}
	for key, want := range map[string]string{"": "key= ", ", api_key_env: OWN": "key=Bearer canary-own "} {
		s := newServer(t, says("Hello."))
		got := segue(t, "models: {a: {model: x, base_url: '"+s.URL+"'"+key+"}}\nagents: {x: {}}\n", env, "Say hello")
		require.Equal(t, 0, got.code, got.stderr)
		require.True(t, strings.HasPrefix(s.requests[0], want), key)
	}
	got := segue(t, "models: {a: {model: x, api_key_env: NOT_SET}}\nagents: {x: {}}\n", env, "Say hello")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "segue: model a: the environment variable NOT_SET, which its api_key_env names, is not set")
	require.NotContains(t, got.stderr, "canary")
}

// Without models, the agents ask the one of the environment.
func TestAgents_environment(t *testing.T) {
	s := newServer(t, says("Hello."))
	env := map[string]string{"OPENAI_BASE_URL": s.URL, "SEGUE_MODEL": "own"}
	got := segue(t, "agents: {x: {system: You sing.}}", env, "Say hello")
	require.Equal(t, "Hello.\n", got.stdout, got.stderr)
	require.Contains(t, s.requests[0], `"model":"own"`)
	require.Contains(t, s.requests[0], "You sing.")
}

// A policy is that of a model: the agent that is called as a tool has one, the one that calls it
// has none.
func TestAgents_policy(t *testing.T) {
	big, small := newServer(t, calls("reader", `{"goal":"read"}`), says("Done.")), newServer(t, says("It says one."))
	got := segue(t, `
models:
  big: {model: b, base_url: `+big.URL+`}
  small: {model: s, base_url: `+small.URL+`, policy: 'hermes,fenced'}
agents:
  lead: {model: big, tools: [], children: [{agent: reader}]}
  reader: {model: small, description: Reads., tools: [read_file, ask_user]}
default: lead
`, nil, "--dir", t.TempDir(), "Go")
	require.Equal(t, "Done.\n", got.stdout, got.stderr)
	require.Contains(t, big.requests[0], `"name":"reader"`)
	require.NotContains(t, big.requests[0], "read_file")
	require.Contains(t, big.requests[1], "It says one.")
	require.NotContains(t, small.requests[0], `"tools":`)
	require.Contains(t, small.requests[0], "tool_call")
	require.Contains(t, small.requests[0], "read_file")
	require.NotContains(t, small.requests[0], "write_file")
	require.NotContains(t, small.requests[0], "reader")
}

// Approval is that of an agent: what one may write, another one may not, as a tool or as an
// executor; a flag is stronger.
func TestAgents_approval(t *testing.T) {
	const file = `
models: {m: {model: m, base_url: SERVER}}
agents:
  lead:
    children: [{agent: other}]
    approval: {default: always}
  other:
    description: Writes.
    approval: {default: always, tools: {write_file: never}}
  alone: {strategy: retry, approval: {default: never}}
  twice:
    strategy: retry
    children: [{agent: other, as: executor}]
    approval: {default: always}
default: lead
`
	write := func(name string) string { return calls("write_file", `{"path":"`+name+`","content":"x"}`) }
	for name, tt := range map[string]struct {
		args    []string
		answers []string
		written map[string]bool
	}{
		"as a tool":     {nil, []string{write("a"), calls("other", `{"goal":"write"}`), write("b"), says("no"), write("c"), says("Done.")}, map[string]bool{"a": true, "b": false, "c": true}},
		"by itself":     {[]string{"--agent", "other"}, []string{write("a"), says("Done.")}, map[string]bool{"a": false}},
		"as executor":   {[]string{"--agent", "twice"}, []string{write("a"), says("Done.")}, map[string]bool{"a": false}},
		"handed on":     {[]string{"--agent", "alone"}, []string{write("a"), says("Done.")}, map[string]bool{"a": false}},
		"flag, allowed": {[]string{"--agent", "other", "--approve", "always"}, []string{write("a"), says("Done.")}, map[string]bool{"a": true}},
		"flag, called":  {[]string{"--approve", "never"}, []string{calls("other", `{"goal":"write"}`), write("a"), says("no"), says("Done.")}, map[string]bool{"a": false}},
		"flag, refused": {[]string{"--approve", "never"}, []string{write("a"), says("Done.")}, map[string]bool{"a": false}},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newServer(t, tt.answers...), t.TempDir()
			got := segue(t, strings.ReplaceAll(file, "SERVER", s.URL), nil, append(tt.args, "--dir", dir, "Go")...)
			require.Equal(t, "Done.\n", got.stdout, got.stderr)
			for path, written := range tt.written {
				_, err := os.Stat(filepath.Join(dir, path))
				require.Equal(t, written, err == nil, path)
			}
		})
	}
}

// What a strategy hands on is done as its agent says, or by the executors that it names, each as it
// says itself.
func TestAgents_executors(t *testing.T) {
	const file = `
models: {m: {model: m, base_url: SERVER}}
agents:
  plain: {strategy: retry, system: You try., tools: [read_file]}
  named: {strategy: retry, children: [{agent: worker, as: executor}]}
  worker: {system: You work., tools: [list_files], limits: {model_calls: 1}}
  critic: {strategy: reflection, system: You write., children: [{agent: worker, as: executor}]}
default: plain
`
	for agent, want := range map[string]struct{ system, tool, not string }{
		"plain": {"You try.", "read_file", "list_files"}, "named": {"You work.", "list_files", "read_file"}, "critic": {"You work.", "list_files", "read_file"},
	} {
		s := newServer(t, says("Done."), says("APPROVED"))
		got := segue(t, strings.ReplaceAll(file, "SERVER", s.URL), nil, "--ask", "--agent", agent, "--dir", t.TempDir(), "Go")
		require.Equal(t, "Done.\n", got.stdout, got.stderr)
		require.Contains(t, s.requests[0], want.system, agent)
		require.Contains(t, s.requests[0], want.tool, agent)
		require.NotContains(t, s.requests[0], want.not, agent)
	}
	s := newServer(t, calls("list_files", "{}"), calls("list_files", "{}"))
	got := segue(t, strings.ReplaceAll(file, "SERVER", s.URL), nil, "--agent", "worker", "--dir", t.TempDir(), "Go")
	require.Equal(t, cli.ExitLimit, got.code, got.stderr)
	require.Len(t, s.requests, 1)
	s = newServer(t, calls("list_files", "{}"), says("Done."))
	got = segue(t, strings.ReplaceAll(file, "SERVER", s.URL), nil, "--agent", "worker", "--max-steps", "9", "--dir", t.TempDir(), "Go")
	require.Equal(t, "Done.\n", got.stdout, got.stderr)
}

// Steps that run at the same time are carried out by the agents that the plan names, and are shown
// with their ids.
func TestAgents_executorsTogether(t *testing.T) {
	const file = `
models: {m: {model: m, base_url: SERVER}}
agents:
  lead:
    strategy: plan-and-execute
    config: {parallel: 2, answer: last}
    children: [{agent: worker, as: executor}, {agent: critic, as: executor}]
  worker: {system: You work.}
  critic: {system: You judge.}
default: lead
`
	plan := `{"steps":[{"goal":"one","depends_on":[]},{"goal":"two","depends_on":[],"executor":"critic"}]}`
	s := newServer(t, calls("submit_plan", plan), says("Done."), says("Done."))
	got := segue(t, strings.ReplaceAll(file, "SERVER", s.URL), nil, "--dir", t.TempDir(), "Go")
	require.Equal(t, "Done.\n", got.stdout, got.stderr)
	require.Len(t, s.requests, 3)
	both := s.requests[1] + s.requests[2]
	require.Contains(t, both, "You work.")
	require.Contains(t, both, "You judge.")
	require.NotContains(t, s.requests[0]+both, `"name":"execute_step`)
	for _, line := range []string{"[0 #2] -> executing_steps", "[0 #3] step 1: one", "[0 #3] step 2: two", "worker: one", "critic: two"} {
		require.Contains(t, got.stderr, line)
	}
	require.NotContains(t, got.stderr, "execute_step ok")
}

// What executors may use is bounded by the tools of the agent that hands work on to them: one
// without tools of its own is offered what is left, in each place that it works in.
func TestAgents_bounds(t *testing.T) {
	const file = `
models: {m: {model: m, base_url: SERVER}}
agents:
  lead: {children: [{agent: helper}, {agent: planner}]}
  planner: {description: Plans., strategy: retry, tools: [read_file], children: [{agent: helper, as: executor}]}
  none: {strategy: plan-and-execute, tools: [], children: [{agent: helper, as: executor}]}
  judge: {strategy: reflection, tools: [read_file, ask_user], children: [{agent: narrow, as: executor}]}
  narrow: {tools: [ask_user], children: [{agent: helper}]}
  thinker: {strategy: retry, tools: [read_file], children: [{agent: rao, as: executor}]}
  rao: {strategy: reason-act-observe}
  twice: {strategy: retry, tools: [read_file], children: [{agent: inner, as: executor}]}
  inner: {strategy: retry}
  helper: {description: Helps.}
default: lead
`
	offered := func(request string) string {
		_, body, _ := strings.Cut(request, " {")
		var r struct {
			Tools []struct{ Function struct{ Name string } }
		}
		require.NoError(t, json.Unmarshal([]byte("{"+body), &r))
		var names []string
		for _, tool := range r.Tools {
			names = append(names, tool.Function.Name)
		}
		return strings.Join(names, " ")
	}
	const all = "list_files read_file search_files write_file edit_file ask_user"
	for agent, tt := range map[string]struct{ answers, want []string }{
		"planner": {[]string{says("Done.")}, []string{"read_file"}},
		"none":    {[]string{calls("submit_plan", `{"steps":[{"goal":"x"}]}`), says("Done."), says("Done.")}, []string{"submit_plan", "", ""}},
		"judge":   {[]string{calls("helper", `{"goal":"x"}`), says("Helped."), says("Done."), says("APPROVED")}, []string{"ask_user helper", "read_file ask_user", "ask_user helper", ""}},
		"twice":   {[]string{says("Done.")}, []string{"read_file"}},
		"thinker": {[]string{calls("agent_decide_next", `{"plan":"x"}`), calls("read_file", `{"path":"none"}`), calls("agent_observe_decide", `{"observation":"x","should_continue":false,"final_answer":"Done."}`)}, []string{"agent_decide_next", "read_file", "agent_observe_decide"}},
		"lead": {
			[]string{calls("planner", `{"goal":"x"}`), says("no"), calls("helper", `{"goal":"x"}`), says("no"), says("Done.")},
			[]string{all + " helper planner", "read_file", all + " helper planner", all, all + " helper planner"},
		},
	} {
		t.Run(agent, func(t *testing.T) {
			s := newServer(t, tt.answers...)
			got := segue(t, strings.ReplaceAll(file, "SERVER", s.URL), nil, "--ask", "--agent", agent, "--dir", t.TempDir(), "Go")
			require.Equal(t, "Done.\n", got.stdout, got.stderr)
			var seen []string
			for _, r := range s.requests {
				seen = append(seen, offered(r))
			}
			require.Equal(t, tt.want, seen)
		})
	}
}

// A run needs the keys and the folder of those whom it can reach, with the strategy that the flag
// names.
func TestAgents_unreached(t *testing.T) {
	s := newServer(t, says("Done."), says("Done."), says("Done."), says("Done."))
	file := `
models:
  m: {model: m, base_url: ` + s.URL + `}
  other: {model: o, api_key_env: KEY_B}
agents:
  careful: {strategy: reflection, model: m, children: [{agent: w, as: executor}]}
  lead: {model: m, children: [{agent: w}], tools: [read_file]}
  both: {strategy: plan-revise-execute, model: m, children: [{agent: ok, as: executor}, {agent: w, as: executor}]}
  again: {strategy: retry, children: [{agent: ok, as: executor}]}
  w: {model: other, description: Works., tools: [read_file]}
  ok: {model: m}
default: lead
`
	for _, args := range [][]string{
		{"--agent", "careful", "--strategy", "complete-task"}, {"--agent", "lead", "--strategy", "llm-only"}, {"--agent", "both", "--strategy", "retry"}, {"--agent", "again"},
	} {
		got := segue(t, file, nil, append(args, "Go")...)
		require.Equal(t, "Done.\n", got.stdout, "%v: %s", args, got.stderr)
	}
	for agent, want := range map[string]string{"careful": "it uses read_file: name the folder with --dir", "lead": "it uses read_file: name the folder with --dir"} {
		got := segue(t, file, nil, "--agent", agent, "Go")
		require.Equal(t, 2, got.code)
		require.Contains(t, got.stderr, want)
	}
	got := segue(t, file, nil, "--agent", "careful", "--dir", t.TempDir(), "Go")
	require.Contains(t, got.stderr, "KEY_B, which its api_key_env names, is not set")
}

// The limits of an agent bound each call of it as a tool, and not the agent that calls it.
func TestAgents_limitsOfTools(t *testing.T) {
	s := newServer(t, calls("helper", `{"goal":"x"}`), calls("list_files", "{}"), says("Done."), says("Too much."))
	got := segue(t, `
models: {m: {model: m, base_url: `+s.URL+`}}
agents:
  lead: {children: [{agent: helper}]}
  helper: {description: Helps., limits: {model_calls: 1}}
default: lead
`, nil, "--dir", t.TempDir(), "Go")
	require.Equal(t, "Done.\n", got.stdout, got.stderr)
	require.Len(t, s.requests, 3)
	require.Contains(t, s.requests[2], "limit")
}

// A request that takes longer than its model may is given up.
func TestAgents_timeout(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer slow.Close()
	defer close(release)
	got := segue(t, "models: {m: {model: m, base_url: '"+slow.URL+"', limits: {timeout: 50ms, retries: -1}}}\nagents: {x: {}}\n", nil, "Go")
	require.Equal(t, cli.ExitProvider, got.code, got.stderr)
	require.Contains(t, got.stderr, "timeout")
}

// What the user types is sent the key, as ever, and the headers of the environment only if it is
// their server.
func TestAgents_typedServer(t *testing.T) {
	s := newServer(t, says("done"), says("done"))
	env := map[string]string{endpoint.KeyVariable: "canary-openai", "OPENAI_CUSTOM_HEADERS": "X-Gateway: canary-gateway", endpoint.ServerVariable: ""}
	for variable, value := range env {
		t.Setenv(variable, value)
	}
	got := segue(t, "agents: {a: {}}\n", env, "--base-url", s.URL, "task")
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	require.Contains(t, s.requests[0], "Bearer canary-openai")
	require.Empty(t, s.headers[0].Get("X-Gateway"))
	env[endpoint.ServerVariable] = s.URL
	t.Setenv(endpoint.ServerVariable, s.URL)
	got = segue(t, "agents: {a: {}}\n", env, "--base-url", s.URL+"/v1", "task")
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	require.Equal(t, "canary-gateway", s.headers[1].Get("X-Gateway"))
}
