package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools"
)

// sentBody is what the provider has of a request before it reads something new, byte for byte.
type sentBody struct {
	Messages json.RawMessage `json:"messages"`
	System   json.RawMessage `json:"system"`
	Tools    json.RawMessage `json:"tools"`
	Output   json.RawMessage `json:"output_config"`
}

// begins reports whether a body begins with an earlier one.
func (b *sentBody) begins(earlier *sentBody) bool {
	rest, ok := strings.CutPrefix(string(b.Messages), strings.TrimSuffix(string(earlier.Messages), "]"))
	return ok && (rest[0] == ',' || rest[0] == ']') &&
		string(b.System) == string(earlier.System) && string(b.Tools) == string(earlier.Tools) && string(b.Output) == string(earlier.Output)
}

// whim answers requests at random, in the forms that the built-in strategies ask for.
type whim struct{ *rand.Rand }

func (w whim) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w whim) answer(rw http.ResponseWriter, body []byte) {
	var asked struct {
		Tools  []struct{ Name string }
		Choice struct{ Type string } `json:"tool_choice"`
		Output any                   `json:"output_config"`
	}
	_ = json.Unmarshal(body, &asked)
	refuse := func(message string) {
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, errorBody("invalid_request_error", message))
	}
	thought := fmt.Sprintf(`{"type":"thinking","thinking":"let me see","signature":"c%d"}`, w.IntN(1e6))
	switch {
	case asked.Output != nil && w.IntN(4) == 0:
		refuse("output_config.format is not supported by this model")
	case (asked.Choice.Type == "any" || asked.Choice.Type == "tool") && w.IntN(4) == 0:
		refuse("Thinking may not be enabled when tool_choice forces tool use.")
	case len(asked.Tools) > 0 && asked.Choice.Type != "none" && w.IntN(4) > 0:
		blocks := []string{thought}
		for i := range 1 + w.IntN(3) {
			name := asked.Tools[w.IntN(len(asked.Tools))].Name
			blocks = append(blocks, w.pick(`{"type":"text","text":"so"},`, `{"type":"redacted_thinking","data":"EmwK"},`, "")+
				fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d_%d","name":%q,"input":%s}`, i, w.IntN(1e6), name, w.arguments(name)))
		}
		_, _ = io.WriteString(rw, whole(strings.Join(blocks, ","), w.pick("tool_use", "tool_use", "tool_use", "max_tokens")))
	default:
		text := w.pick(" ", "an answer", "Thought: I look.\nAction: look\nAction Input: {}", "Final Answer: 4", "1. look\n2. pay", `{"approved":false,"feedback":"longer"}`, "REJECTED: longer")
		_, _ = io.WriteString(rw, whole(thought+`,{"type":"text","text":`+quote(text)+`}`, w.pick("end_turn", "end_turn", "end_turn", "max_tokens")))
	}
}

func (w whim) arguments(tool string) string {
	switch tool {
	case "submit_plan":
		return w.pick(`{"steps":["A","B"]}`, `{"steps":["A"]}`, `{"steps":[]}`)
	case "submit_evaluation":
		return w.pick(`{"approved":true}`, `{"approved":false,"feedback":"shorter"}`, `{}`)
	case "agent_decide_next", "agent_observe_decide":
		return w.pick(`{"plan":"look"}`, `{"should_continue":true}`, `{"finish":false}`)
	default:
		return w.pick("{}", `{"x": [1, 2]}`)
	}
}

// Within a frame the body of a request begins with the body of the last one, byte for byte, unless
// the step declares otherwise: so the provider's cache has it.
func TestPrefix(t *testing.T) {
	set, extended := builtin.All(), map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		for seed := range uint64(prove.DepthOr(9, 12)) {
			prefixRun(t, set, name, seed, extended)
		}
	}
	for _, name := range []string{"complete-task", "react", "reflection", "plan-revise-execute", "reason-act-observe"} {
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
			text, _ := s.sent()
			now := new(sentBody)
			if err := json.Unmarshal([]byte(text), now); err != nil {
				problems = append(problems, err.Error())
			}
			switch earlier := last[e.Frame]; {
			case ask.Anew != nil || earlier == nil:
			case !now.begins(earlier):
				problems = append(problems, fmt.Sprintf("frame %s declares nothing after\n%s\nand sends\n%s", e.Frame, earlier.Messages, text))
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
	_, _ = o.Run(context.Background(), orchestrator.Task{Strategy: name, Input: delegation.Input{Goal: "Where is it?"}})
	s.Close()
	require.Empty(t, problems, "%s, seed %d", name, seed)
}
