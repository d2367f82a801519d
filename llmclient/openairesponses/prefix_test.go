package openairesponses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/tools"
)

// sentBody is what a provider has of a request before it reads something new, byte for byte.
type sentBody struct {
	Input json.RawMessage `json:"input"`
	Tools json.RawMessage `json:"tools"`
	Text  json.RawMessage `json:"text"`
}

// begins reports whether a body begins with an earlier one.
func (b *sentBody) begins(earlier *sentBody) bool {
	rest, ok := strings.CutPrefix(string(b.Input), strings.TrimSuffix(string(earlier.Input), "]"))
	return ok && (rest[0] == ',' || rest[0] == ']') && string(b.Tools) == string(earlier.Tools) && string(b.Text) == string(earlier.Text)
}

// whim answers requests at random, in the forms that the built-in strategies ask for.
type whim struct{ *rand.Rand }

func (w whim) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w whim) answer(rw http.ResponseWriter, body []byte) {
	var asked struct {
		Tools  []struct{ Name string }
		Stream bool
	}
	_ = json.Unmarshal(body, &asked)
	var said speech
	if w.IntN(3) > 0 {
		said.items = append(said.items, thought(strconv.Itoa(w.IntN(1e6)), []string{"let me ", "see"}[:w.IntN(3)]...))
	}
	if len(asked.Tools) == 0 || w.IntN(3) == 0 {
		said.items = append(said.items, text(w.pick("", "an answer", "1. look\n2. pay", `{"city":"Bern"}`, `{"approved":false,"feedback":"longer"}`, "REJECTED: longer")))
	}
	if len(asked.Tools) > 0 && w.IntN(4) > 0 {
		for i := range 1 + w.IntN(2) {
			name := asked.Tools[w.IntN(len(asked.Tools))].Name
			said.items = append(said.items, toolCall(fmt.Sprintf("c%d_%d", i, w.IntN(1e6)), name, w.arguments(name)))
		}
	}
	if w.IntN(5) == 0 {
		said.items = append(said.items, thought(strconv.Itoa(w.IntN(1e6))))
	}
	if w.IntN(12) == 0 {
		said.status, said.reason = "incomplete", "max_output_tokens"
	}
	if asked.Stream {
		_, _ = io.WriteString(rw, stream(said.events()...))
		return
	}
	_, _ = io.WriteString(rw, said.whole())
}

func (w whim) arguments(tool string) string {
	switch tool {
	case "submit_plan":
		return w.pick(`{"steps":["A","B"]}`, `{"steps":["A"]}`, `{"steps":[]}`)
	case "submit_evaluation":
		return w.pick(`{"approved":true}`, `{"approved":false,"feedback":"shorter"}`, `{}`)
	case "agent_decide_next", "agent_observe_decide":
		return w.pick(`{"plan":"look"}`, `{"should_continue":true}`, `{"finish":false}`, `{"cut`)
	default:
		return "{}"
	}
}

// TestPrefix runs the built-in strategies against a server, but for react, which needs stop
// sequences. Within a frame the body of a request begins with the body of the last one, byte for
// byte, unless the step declares otherwise.
func TestPrefix(t *testing.T) {
	city := &llmclient.Schema{Name: "city", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
	set := builtin.All()
	delete(set, react.Name)
	set["with a schema"] = completetask.New(completetask.Config{Schema: city, MaxModelCalls: 4})
	extended := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		for seed := range uint64(prove.DepthOr(8, 20)) {
			prefixRun(t, set, name, seed, extended)
		}
	}
	for _, name := range []string{"complete-task", "reflection", "plan-revise-execute", "with a schema"} {
		require.Greater(t, extended[name], 5, "requests of %s that extend the last one", name)
	}
}

// prefixRun makes one run, and compares the bodies of its requests.
func prefixRun(t *testing.T, set strategy.Set, name string, seed uint64, extended map[string]int) {
	t.Helper()
	model := whim{rand.New(rand.NewPCG(seed, 1))}
	var s *server
	s = serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		body, _ := s.sent()
		model.answer(rw, []byte(body))
	})
	last, problems := map[string]*sentBody{}, []string(nil)
	compare := func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			answer, err := next(ctx, e)
			ask, ok := e.Step.(nextstep.GetChatCompletion)
			if !ok {
				return answer, err
			}
			sent, _ := s.sent()
			now := new(sentBody)
			if err := json.Unmarshal([]byte(sent), now); err != nil {
				problems = append(problems, err.Error())
			}
			switch earlier := last[e.Frame]; {
			case ask.Anew != nil || earlier == nil:
			case !now.begins(earlier):
				problems = append(problems, fmt.Sprintf("frame %s declares nothing after\n%s\nand sends\n%s", e.Frame, earlier.Input, sent))
			default:
				extended[name]++
			}
			last[e.Frame] = now
			return answer, err
		}
	}
	look := func(name string) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: name, ReadOnly: true}, func(context.Context, string) (string, error) { return "seen", nil })
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: newClient(t, s), Strategies: set, Tools: []tools.Tool{look("look"), look("pay")},
		Middleware: []orchestrator.Middleware{compare}, Limits: delegation.Limits{ModelCalls: 40},
	})
	require.NoError(t, err)
	_, _ = o.Run(t.Context(), orchestrator.Task{Strategy: name, Input: delegation.Input{Goal: "Where is it?"}})
	s.Close()
	require.Empty(t, problems, "%s, seed %d", name, seed)
}
