package segue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

type story struct {
	Title string   `json:"title"`
	Pages int      `json:"pages"`
	Parts []string `json:"parts"`
}

// shown are the Partials of a stream, one a line.
func shown[T any](t *testing.T, a *segue.Agent) (lines []string, last segue.Partial[T], err error) {
	t.Helper()
	for p, failed := range segue.Stream[T](t.Context(), a, "Tell me a story.") {
		require.NoError(t, err, "nothing comes after an error")
		require.False(t, last.Final, "nothing comes after the answer")
		if err = failed; err != nil {
			require.Zero(t, p)
			continue
		}
		text, failed := json.Marshal(p.Value)
		require.NoError(t, failed)
		lines, last = append(lines, fmt.Sprintf("%d %s", p.Attempt, text)), p
	}
	return lines, last, err
}

// pieces cuts a text into pieces of n characters.
func pieces(text string, n int) (list []string) {
	for part := range slices.Chunk([]rune(text), n) {
		list = append(list, string(part))
	}
	return list
}

func TestStream_typed(t *testing.T) {
	a := &segue.Agent{Model: scripted.New(scripted.Stream("```json\n", `{"tit`, `le":"A t`, `ale","pages":1`, `2,"parts":["On`, `ce","Tw`, `ice"]`, "}\n```"))}
	lines, last, err := shown[story](t, a)
	require.NoError(t, err)
	require.Equal(t, []string{
		`1 {"title":"","pages":0,"parts":null}`,
		`1 {"title":"A t","pages":0,"parts":null}`,
		`1 {"title":"A tale","pages":0,"parts":null}`,
		`1 {"title":"A tale","pages":12,"parts":["On"]}`,
		`1 {"title":"A tale","pages":12,"parts":["Once","Tw"]}`,
		`1 {"title":"A tale","pages":12,"parts":["Once","Twice"]}`,
		`1 {"title":"A tale","pages":12,"parts":["Once","Twice"]}`,
	}, lines)
	require.Equal(t, segue.Partial[story]{Value: story{"A tale", 12, []string{"Once", "Twice"}}, Attempt: 1, Final: true}, last)
}

// An answer that does not do, and one that broke off, are superseded by the next.
func TestStream_typedAttempts(t *testing.T) {
	model := scripted.New(
		scripted.Reply{Deltas: []string{`{"title":"Bro`}, Err: &llmclient.Error{Code: llmclient.CodeUnavailable}},
		scripted.Reply{Text: "I look first.", Calls: []messages.ToolCall{scripted.Call("add", `{"A":1,"B":2}`, "1")}},
		scripted.Stream(`{"title":"Bad",`, `"pages":"many"`, `,"parts":[]}`),
		scripted.Stream(`{"title":"Good",`, `"pages":3,`, `"parts":[]}`),
	)
	a := &segue.Agent{Model: llmclient.Retry(model, llmclient.RetryConfig{AfterOutput: true, Base: 1}), Tools: []tools.Tool{adder()}}
	lines, last, err := shown[story](t, a)
	require.NoError(t, err)
	require.Equal(t, []string{
		`1 {"title":"Bro","pages":0,"parts":null}`,
		`2 {"title":"Bad","pages":0,"parts":null}`,
		`3 {"title":"Good","pages":0,"parts":null}`,
		`3 {"title":"Good","pages":3,"parts":null}`,
		`3 {"title":"Good","pages":3,"parts":[]}`,
		`3 {"title":"Good","pages":3,"parts":[]}`,
	}, lines)
	require.True(t, last.Final)
}

func TestStream_typedFails(t *testing.T) {
	a := &segue.Agent{Model: scripted.New(scripted.Stream(`{"title":"A`, ` tale"`), scripted.Text("no"), scripted.Text("no"))}
	lines, last, err := shown[story](t, a)
	e, ok := errors.AsType[*delegation.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, delegation.CodeInvalid, e.Code)
	require.Equal(t, []string{`1 {"title":"A","pages":0,"parts":null}`, `1 {"title":"A tale","pages":0,"parts":null}`}, lines)
	require.False(t, last.Final)

	model := scripted.New(scripted.Stream(`{"title":"A`, ` tale"`, `}`))
	for range segue.Stream[story](t.Context(), &segue.Agent{Model: model}, "go") {
		break
	}
	require.Len(t, model.Requests(), 1)

	_, _, err = shown[[]string](t, &segue.Agent{Model: model})
	require.ErrorContains(t, err, "put the []string into a struct")
	_, _, err = shown[story](t, &segue.Agent{Model: model, Strategy: completetask.New(completetask.Config{})})
	require.ErrorContains(t, err, "Strategy of its own")
}

// What an agent that is called as a tool writes is no part of the answer, nor are the arguments of
// a tool of the agent's own that has the name.
func TestStream_typedHearsTheAgent(t *testing.T) {
	model := callWriter{scripted.New(
		scripted.Reply{Calls: []messages.ToolCall{scripted.Call("helper", `{"goal":"look"}`, "1"), scripted.Call(completetask.FinalTool, `{"title":"own"}`, "2")}},
		scripted.Text(`{"title":"The helper's"}`),
		scripted.Text(`{"title":"Mine","pages":1,"parts":[]}`),
	)}
	own := tools.New(tools.Definition{Name: completetask.FinalTool, Description: "Ends.", ReadOnly: true}, func(context.Context, story) (string, error) { return "", nil })
	a := &segue.Agent{Model: model, Tools: []tools.Tool{own}, Configure: func(cfg *orchestrator.Config) {
		cfg.Strategies["help"] = completetask.New(completetask.Config{})
		cfg.Tools = append(cfg.Tools, orchestrator.AgentTool(orchestrator.Agent{
			Definition: tools.Definition{Name: "helper", ReadOnly: true}, Strategy: "help",
		}))
	}}
	lines, _, err := shown[story](t, a)
	require.NoError(t, err)
	require.Equal(t, []string{`1 {"title":"Mine","pages":1,"parts":[]}`, `1 {"title":"Mine","pages":1,"parts":[]}`}, lines)
}

// callWriter is a client that tells the calls of its replies.
type callWriter struct{ llmclient.Client }

func (w callWriter) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	resp, err := w.Client.Complete(ctx, req, onDelta)
	if tell := llmclient.CallDeltas(ctx); err == nil && tell != nil {
		for i, c := range resp.Message.Calls() {
			tell(llmclient.CallDelta{Index: i, Tool: c.Name, Text: c.Arguments})
		}
	}
	return resp, err
}

// stories is a server that streams answers in pieces of some characters: as text or, if it refuses
// response formats, as arguments of the final tool.
type stories struct {
	mu      sync.Mutex
	refuses bool
	answers []string
	size    int
	formats []bool // of the requests: there was a response format
}

func (s *stories) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var asked map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	native := asked["response_format"] != nil
	if s.formats = append(s.formats, native); native && s.refuses {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"response_format json_schema is not supported","param":"response_format"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	finish := "stop"
	for i, piece := range pieces(s.answers[0], s.size) {
		delta := map[string]any{"content": piece}
		if !native {
			call := map[string]any{"index": 0, "function": map[string]any{"arguments": piece}}
			if i == 0 {
				call["id"], call["function"] = fmt.Sprint("c", len(s.formats)), map[string]any{"name": completetask.FinalTool, "arguments": piece}
			}
			delta, finish = map[string]any{"tool_calls": []any{call}}, "tool_calls"
		}
		data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	s.answers = s.answers[1:]
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
}

// Over HTTP, by a response format and by the final tool, the same is seen.
func TestStream_typedOverHTTP(t *testing.T) {
	const bad, good = `{"title":"Too long","pages":-1.5,"parts":[]}`, `{"title":"Ça va \"bien\" 😀","pages":3,"parts":["Once upon a time","The end"]}`
	var seen [][]string
	for _, refuses := range []bool{false, true} {
		s := &stories{refuses: refuses, answers: []string{bad, good}, size: 5}
		server := httptest.NewServer(s)
		model := openaichat.MustNew(openaichat.Config{Model: "m", APIKey: "none", BaseURL: server.URL + "/v1", HTTPClient: server.Client()})
		lines, last, err := shown[story](t, &segue.Agent{Model: model})
		server.Close()
		require.NoError(t, err)
		require.True(t, last.Final)
		require.Equal(t, 2, last.Attempt)
		require.Equal(t, story{`Ça va "bien" 😀`, 3, []string{"Once upon a time", "The end"}}, last.Value)
		require.Greater(t, len(lines), 15)
		require.Contains(t, lines, `2 {"title":"Ça va \"bi","pages":0,"parts":null}`)
		require.Contains(t, strings.Join(lines, "\n"), `2 {"title":"Ça va \"bien\" 😀","pages":3,"parts":["Once upon a`)
		if refuses {
			require.Equal(t, []bool{true, false, false}, s.formats)
		}
		seen = append(seen, lines)
	}
	require.Equal(t, seen[0], seen[1])
}
