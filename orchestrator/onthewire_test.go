package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/stepagent"
)

// wire is a server of Chat Completions that answers with these messages, one after the other, and
// keeps the bodies of the requests as they came.
type wire struct {
	client  *openaichat.Client
	mu      sync.Mutex
	replies []string
	bodies  []map[string]any
}

func newWire(t *testing.T, replies ...string) *wire {
	t.Helper()
	w := &wire{replies: replies}
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	var err error
	w.client, err = openaichat.New(openaichat.Config{Model: "m", BaseURL: s.URL, APIKey: "none", HTTPClient: s.Client(), MaxRetries: -1})
	require.NoError(t, err)
	return w
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, _ := io.ReadAll(r.Body)
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil || len(w.replies) == 0 {
		http.Error(rw, fmt.Sprint("nothing is left to say: ", err), http.StatusTeapot)
		return
	}
	w.bodies = append(w.bodies, body)
	reply := w.replies[0]
	w.replies = w.replies[1:]
	rw.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(rw, reply)
}

// says is an answer with a text, and calls an answer with calls of one tool, by their ids.
func says(text string) string {
	data, _ := json.Marshal(text)
	return `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":` + string(data) + `}}]}`
}

func calls(tool string, ids ...string) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"{\"n\":%d}"}}`, id, tool, i)
	}
	return `{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[` + strings.Join(list, ",") + `]}}]}`
}

// S0-8: a reply without choices is an error of the provider's; the history and the new message are
// kept.
func TestS0_8_runOfAReplyWithoutChoices(t *testing.T) {
	said := messages.History{messages.UserText("hello"), messages.AssistantText("hi")}
	for _, body := range []string{`{}`, `{"choices":[]}`, `{"choices":null}`} {
		res, err := solver(t, newWire(t, body).client).Run(t.Context(),
			orchestrator.Task{Input: delegation.Input{Goal: "and now?", Messages: said}})
		var problem *llmclient.Error
		require.ErrorAs(t, err, &problem, body)
		require.Equal(t, llmclient.CodeBadResponse, problem.Code, body)
		require.Equal(t, append(said.Clip(), messages.UserText("and now?")), res.Output.Messages, body)
	}
}

// S1-4: requests for a critique, for a plan and for a turn of ReAct have no field for tools,
// although the run has some.
func TestS1_4_noFieldForTools(t *testing.T) {
	tools := func(w *wire) (have []bool) {
		for _, b := range w.bodies {
			_, found := b["tools"]
			have = append(have, found)
		}
		return have
	}
	step := func(s stepagent.Step) stepagent.StepResult {
		return stepagent.Ask(llmclient.Request{Tools: s.Tools}, func(r llmclient.Response) stepagent.StepResult {
			return stepagent.Finish(r.Message.Text())
		})
	}
	for name, c := range map[string]struct {
		strategy func() strategy.Strategy
		replies  []string
		want     []bool
	}{
		"critique": {reflection.New(reflection.Config{}), []string{says("a poem"), says("APPROVED")}, []bool{true, false}},
		"plan":     {stepagent.New(stepagent.Config{Step: step, PlanEvery: 1}), []string{says("1. Do it."), says("done")}, []bool{false, true}},
		"react":    {react.New(react.Config{}), []string{says("Thought: look\nAction: a\nAction Input: {}"), says("Final Answer: done")}, []bool{false, false}},
	} {
		w := newWire(t, c.replies...)
		_, err := solver(t, w.client, with(echo("a")), func(cfg *orchestrator.Config) {
			cfg.Strategies = strategy.Set{"solve": c.strategy}
		}).Run(t.Context(), task("go"))
		require.NoError(t, err, name)
		require.Equal(t, c.want, tools(w), name)
	}
}

// S4-22: of three tools in sequence each later request has the earlier calls, as id, type and
// function with arguments that are a string. An assistant's message without calls has no list of
// them, not even an empty one.
func TestS4_22_callsOnTheWire(t *testing.T) {
	w := newWire(t, calls("a", "x1"), calls("a", "x2"), calls("a", "x3"), says("done"), says("again"))
	o := solver(t, w.client, with(echo("a")), func(c *orchestrator.Config) { c.Repeats = -1 })
	res := ran(t, o, task("go"))
	ran(t, o, orchestrator.Task{Input: delegation.Input{Goal: "once more", Messages: res.Output.Messages}})
	for n, body := range w.bodies {
		var ids, answered []string
		for _, each := range body["messages"].([]any) {
			m := each.(map[string]any)
			if id, ok := m["tool_call_id"]; ok {
				answered = append(answered, id.(string))
			}
			list, found := m["tool_calls"]
			require.Equal(t, found, m["role"] == "assistant" && m["content"] != "done", "%v", m)
			if !found {
				continue
			}
			require.Len(t, list, 1)
			call := list.([]any)[0].(map[string]any)
			ids = append(ids, call["id"].(string))
			require.Equal(t, map[string]any{
				"id": call["id"], "type": "function", "function": map[string]any{"name": "a", "arguments": `{"n":0}`},
			}, call)
		}
		want := []string{"x1", "x2", "x3"}[:min(n, 3)]
		require.ElementsMatch(t, want, ids, "request %d", n)
		require.ElementsMatch(t, want, answered, "request %d", n)
	}
}
