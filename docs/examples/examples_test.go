// Package examples holds the programs of a first day with the library, each in a folder of its own.
package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// provider is a server that speaks Chat Completions and replies by a script.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	replies []reply
	asked   []request
}

// reply is a text, a call of a tool, or a status that is no success.
type reply struct {
	text, tool, arguments string
	status                int
}

// request is what the tests look at of one.
type request struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content any
	}
	ResponseFormat struct {
		JSONSchema struct {
			Strict bool
			Schema json.RawMessage
		} `json:"json_schema"`
	} `json:"response_format"`
}

func newProvider(t *testing.T, replies ...reply) *provider {
	p := &provider{replies: replies}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked request
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, fmt.Sprint(r.URL, err), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, asked)
	if len(p.replies) == 0 {
		http.Error(w, "the script has ended", http.StatusBadRequest)
		return
	}
	next := p.replies[0]
	p.replies = p.replies[1:]
	w.Header().Set("Content-Type", "application/json")
	if next.status != 0 {
		w.WriteHeader(next.status)
		fmt.Fprint(w, `{"error":{"message":"no"}}`)
		return
	}
	message, finish := map[string]any{"role": "assistant", "content": next.text}, "stop"
	if next.tool != "" {
		finish = "tool_calls"
		message["tool_calls"] = []any{map[string]any{
			"index": 0, "id": fmt.Sprint("c", len(p.asked)), "type": "function",
			"function": map[string]any{"name": next.tool, "arguments": next.arguments},
		}}
	}
	choice := map[string]any{"index": 0, "finish_reason": finish, "message": message}
	if asked.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		choice["delta"] = message
		message["content"] = "" // it comes before
	}
	data, err := json.Marshal(map[string]any{"id": "1", "model": asked.Model, "choices": []any{choice}})
	if err != nil {
		panic(err)
	}
	if asked.Stream {
		data = fmt.Appendf(streamed(next.text), "data: %s\n\ndata: [DONE]\n\n", data)
	}
	_, _ = w.Write(data)
}

// streamed returns a text as the events of a stream, in pieces of some characters.
func streamed(text string) (events []byte) {
	for piece := range slices.Chunk([]rune(text), 9) {
		data, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": string(piece)}}}})
		if err != nil {
			panic(err)
		}
		events = fmt.Appendf(events, "data: %s\n\n", data)
	}
	return events
}

// programs is the folder in which they are built, all at once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "segue-examples")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "./...").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return dir, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// command runs a program against the provider, in an empty folder.
func (p *provider) command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := programs()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=none", "OPENAI_BASE_URL="+p.URL+"/v1", "LOCAL_BASE_URL=http://127.0.0.1:1/v1")
	return cmd
}

func (p *provider) run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := p.command(t, dir, name, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, p.replies, "replies that nobody asked for")
	return string(out)
}

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		name    string
		replies []reply
		want    string
	}{
		{"hello", []reply{{text: "From Go."}}, "From Go. <nil>\n"},
		{"tool", []reply{{tool: "add", arguments: `{"a":19.5,"b":22.5}`}, {text: "42"}}, "42 <nil>\n"},
		{"stream", []reply{{text: "Once. Twice. Never."}}, "Once. Twice. Never.\n"},
		{
			"structured",
			[]reply{{text: `{"name":"Pancakes","taste":"hot","steps":[],"oven":null}`}, {text: `{"name":"Pancakes","taste":"sweet","steps":["Mix.","Bake."],"oven":null}`}},
			"Pancakes (sweet)\n1. Mix.\n2. Bake.\n",
		},
		{
			"partial",
			[]reply{{text: `{"name":"Pancakes","steps":"None."}`}, {text: `{"name":"Pancakes","steps":["Mix.","Bake well."]}`}},
			"Pancakes\nNo, another one.\nPancakes\n1. Mix.\n2. Bake well.\n",
		},
		{"strategy", []reply{{text: "It is a long story."}, {text: "It is a table."}}, "It is a table. <nil>\n"},
		{
			"plan",
			[]reply{
				{tool: "submit_plan", arguments: `{"steps":[{"id":"a","goal":"Write it."},{"goal":"Criticise it.","executor":"critic","depends_on":["a"]}]}`},
				{tool: "submit_evaluation", arguments: `{"approved":true}`},
				{text: "Dear editor"},
				{text: "Too short."},
				{text: "Dear editor, trains."},
			},
			"Dear editor, trains. <nil>\n",
		},
		{"fallback", []reply{{status: 401}, {text: "The second."}}, "The second. <nil>\n"},
		{
			"toolbox",
			[]reply{
				{tool: "forecast", arguments: `{"city":"Atlantis","unit":"celsius"}`},
				{tool: "forecast", arguments: `{"city":"Rome","unit":"celsius"}`},
				{tool: "book", arguments: `{"table":4}`},
				{text: "Enjoy."},
			},
			"May book be called? {\"table\":4}\nEnjoy.\n",
		},
		{"models", []reply{{text: "I am the other one."}}, "I am the other one. <nil>\n"},
		{"policy", []reply{{text: "```tool_call\n{\"name\":\"now\",\"arguments\":{}}\n```"}, {text: "Late."}}, "Late. <nil>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, c.replies...)
			require.Equal(t, c.want, p.run(t, t.TempDir(), c.name))
			if c.name == "structured" {
				require.True(t, p.asked[0].ResponseFormat.JSONSchema.Strict)
			}
		})
	}
}

// The second process knows what was said in the first.
func TestChat(t *testing.T) {
	t.Parallel()
	p := newProvider(t, reply{text: "Hello, Ann."}, reply{text: "You are Ann."})
	dir := t.TempDir()
	for i, want := range []string{"Hello, Ann.\n", "You are Ann.\n"} {
		out, err := p.command(t, dir, "chat", []string{"I am Ann.", "Who am I?"}[i]).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, want, string(out))
	}
	require.Len(t, p.asked[1].Messages, 4)
	require.Equal(t, "I am Ann.", p.asked[1].Messages[1].Content)
}

// A visitor is asked, says yes, and sees the answer; another one says no.
func TestApproval(t *testing.T) {
	t.Parallel()
	p := newProvider(t,
		reply{tool: "send", arguments: `{"To":"bob","Text":"<hi>"}`}, reply{text: "Bob has it."},
		reply{tool: "send", arguments: `{"To":"eve","Text":"hi"}`}, reply{text: "Then not."})
	site, log := approvalSite(t, p)
	for _, say := range []string{"yes", "no"} {
		asked := post(t, site+"/task", url.Values{"task": {"write"}})
		require.Contains(t, asked, "May I call <b>send</b>")
		require.NotContains(t, asked, "<hi>")
		answer := url.Values{"run": {field(t, asked, "run")}, "wait": {field(t, asked, "wait")}, "say": {say}}
		done := post(t, site+"/answer", answer)
		require.Contains(t, done, map[string]string{"yes": "Bob has it.", "no": "Then not."}[say])
	}
	require.Contains(t, log.String(), "to bob: <hi>")
	require.NotContains(t, log.String(), "eve")
}

// output is what a process has written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// approvalSite starts the web app and returns its address and what it logs.
func approvalSite(t *testing.T, p *provider) (string, *output) {
	t.Helper()
	free, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	cmd, log := p.command(t, t.TempDir(), "approval", "-address", address), new(output)
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + address)
		if err == nil {
			err = resp.Body.Close()
		}
		return err == nil
	}, 30*time.Second, 10*time.Millisecond, "%s", log)
	return "http://" + address, log
}

func post(t *testing.T, to string, form url.Values) string {
	t.Helper()
	resp, err := http.PostForm(to, form)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	page, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", page)
	return string(page)
}

// field returns the value of a hidden field of a page.
func field(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	require.NotEmpty(t, found, page)
	return strings.TrimSpace(found[1])
}
