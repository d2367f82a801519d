// Package examples holds the programs of a first day with the library, each in a folder of its own.
package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// provider is a server that speaks Chat Completions and replies by a script.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	replies []reply
	asked   []request
}

// reply is a text, calls of a tool, both, or a status that is no success.
type reply struct {
	text, tool, arguments string
	second                string        // the arguments of a second call of the tool
	half                  chan struct{} // a streamed reply whose other half comes when this is closed
	status                int
}

// calls are the calls of a tool in a reply, as the provider writes them.
func (r reply) calls(of int) []any {
	var calls []any
	for i, arguments := range []string{r.arguments, r.second} {
		if arguments != "" {
			calls = append(calls, map[string]any{
				"index": i, "id": fmt.Sprintf("c%d-%d", of, i), "type": "function",
				"function": map[string]any{"name": r.tool, "arguments": arguments},
			})
		}
	}
	return calls
}

// request is what the tests look at of one.
type request struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content any
	}
	Tools          []struct{ Function struct{ Name string } }
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
	next, number := p.take(asked)
	if number == 0 {
		http.Error(w, "the script has ended", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if next.status != 0 {
		w.WriteHeader(next.status)
		fmt.Fprint(w, `{"error":{"message":"no"}}`)
		return
	}
	message, finish := map[string]any{"role": "assistant", "content": next.text}, "stop"
	if next.tool != "" {
		finish = "tool_calls"
		message["tool_calls"] = next.calls(number)
	}
	if next.half != nil {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(streamed(asked.Model, next.text[:len(next.text)/2]))
		next.text = next.text[len(next.text)/2:]
		_ = http.NewResponseController(w).Flush()
		select {
		case <-next.half:
		case <-r.Context().Done():
			return
		}
	}
	choice := map[string]any{"index": 0, "finish_reason": finish, "message": message}
	if asked.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		choice["delta"] = message
		message["content"] = "" // it comes before
	}
	data := chunk(asked.Model, choice)
	if asked.Stream {
		data = fmt.Appendf(streamed(asked.Model, next.text), "data: %s\n\ndata: [DONE]\n\n", data)
	}
	_, _ = w.Write(data)
}

// take returns the next reply and its number, from 1; 0: there is none.
func (p *provider) take(asked request) (next reply, number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, asked)
	if len(p.replies) == 0 {
		return reply{}, 0
	}
	next, p.replies = p.replies[0], p.replies[1:]
	return next, len(p.asked)
}

func chunk(model string, choice any) []byte {
	data, err := json.Marshal(map[string]any{"id": "1", "model": model, "choices": []any{choice}})
	if err != nil {
		panic(err)
	}
	return data
}

// streamed returns a text as the events of a stream, in pieces of some characters.
func streamed(model, text string) (events []byte) {
	for piece := range slices.Chunk([]rune(text), 9) {
		delta := map[string]any{"index": 0, "delta": map[string]string{"content": string(piece)}}
		events = fmt.Appendf(events, "data: %s\n\n", chunk(model, delta))
	}
	return events
}

// programs is the folder in which they are built, all at once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "segue-examples")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "./...", "./chatserver").CombinedOutput()
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
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// command runs a program against the provider, in an empty folder.
func (p *provider) command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := programs()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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
		{"workflow", []reply{{text: "1. sleep 2. arrive"}, {text: "You sleep and arive."}, {text: "You sleep and arrive."}}, "You sleep and arrive. <nil>\n"},
		{"twice", []reply{{text: "It is a long story."}, {text: "It is a table."}}, "It is a table. <nil>\n"},
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
