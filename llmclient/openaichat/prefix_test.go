package openaichat_test

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
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/react"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// sentBody is what a provider has of a request before it reads something new, byte for byte.
type sentBody struct {
	Messages json.RawMessage `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
	Format   json.RawMessage `json:"response_format"`
}

// begins reports whether a body begins with an earlier one.
func (b *sentBody) begins(earlier *sentBody) bool {
	return goesOn(b.Messages, earlier.Messages) && string(b.Tools) == string(earlier.Tools) && string(b.Format) == string(earlier.Format)
}

// offersMore reports whether a body begins with an earlier one in its messages and in its tools, of
// which it has more.
func (b *sentBody) offersMore(earlier *sentBody) bool {
	return goesOn(b.Messages, earlier.Messages) && goesOn(b.Tools, earlier.Tools) && len(b.Tools) > len(earlier.Tools) && string(b.Format) == string(earlier.Format)
}

// goesOn reports whether a list begins with an earlier one, byte for byte.
func goesOn(list, earlier json.RawMessage) bool {
	rest, ok := strings.CutPrefix(string(list), strings.TrimSuffix(string(earlier), "]"))
	return ok && (rest[0] == ',' || rest[0] == ']')
}

// whim answers requests at random, in the forms that the built-in strategies ask for.
type whim struct {
	*rand.Rand
	refuses bool // now and then a request is too long for it
}

func (w whim) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w whim) answer(rw http.ResponseWriter, body []byte) {
	var asked struct {
		Tools []struct {
			Function struct{ Name string }
		}
		Choice any `json:"tool_choice"`
		Format any `json:"response_format"`
	}
	_ = json.Unmarshal(body, &asked)
	choice, forced := asked.Choice.(map[string]any)
	forced = forced && choice != nil || asked.Choice == "required"
	rw.Header().Set("Content-Type", "application/json")
	switch {
	case w.refuses && w.IntN(12) == 0:
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, `{"error":{"message":"the prompt is too long","type":"invalid_request_error","code":"context_length_exceeded"}}`)
	case asked.Format != nil && w.IntN(4) == 0:
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, `{"error":{"message":"response_format is not supported","type":"invalid_request_error"}}`)
	case forced && w.IntN(4) == 0:
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, `{"error":{"message":"tool_choice is not supported","type":"invalid_request_error"}}`)
	case len(asked.Tools) > 0 && w.IntN(4) > 0:
		var calls []string
		for i := range 1 + w.IntN(2) {
			name := asked.Tools[w.IntN(len(asked.Tools))].Function.Name
			calls = append(calls, fmt.Sprintf(`{"id":"c%d_%d","type":"function","function":{"name":%q,"arguments":%q}}`, i, w.IntN(1e6), name, w.arguments(name)))
		}
		_, _ = io.WriteString(rw, whole(`"reasoning_content":"let me see","content":`+w.pick("null", `"so"`)+`,"tool_calls":[`+strings.Join(calls, ",")+`]`, w.pick(`"tool_calls"`, `"tool_calls"`, `"stop"`, `"length"`)))
	default:
		text := w.pick("", "an answer", "Thought: I look.\nAction: look\nAction Input: {}", "Thought: I pay.\nAction: pay\nAction Input: {}", "Action: fly\nAction Input: {}",
			"Final Answer: 4", "1. look\n2. pay", `{"city":"Bern"}`, `{"approved":false,"feedback":"longer"}`, "REJECTED: longer")
		_, _ = io.WriteString(rw, whole(`"reasoning_content":"hm","content":`+strconv.Quote(text), w.pick(`"stop"`, `"stop"`, `"stop"`, `"length"`)))
	}
}

func (w whim) arguments(tool string) string {
	switch tool {
	case "submit_plan":
		return w.pick(`{"steps":["A","B"]}`, `{"steps":["A"]}`, `{"steps":[]}`)
	case "submit_evaluation":
		return w.pick(`{"approved":true}`, `{"approved":false,"feedback":"shorter"}`, `{}`)
	case "agent_decide_next", "agent_observe_decide":
		return w.pick(`{"plan":"look"}`, `{"should_continue":true}`, `{"finish":false}`, `{"cut`)
	case "search_tools":
		return w.pick(`{"query":"look"}`, `{"query":"pay"}`, `{"query":"fly"}`)
	case "final":
		return w.pick(`{"city":"Bern"}`, `{"city":3}`, `{"answer":"Bern"}`)
	default:
		return fmt.Sprintf(`{"n":%d}`, w.IntN(6)) // the same call again and again is another conversation
	}
}

// stepping asks with the conversation, now and then with messages of its own, without tools, or for
// a plan.
func stepping(step stepagent.Step) stepagent.StepResult {
	request := llmclient.Request{Tools: step.Tools}
	switch step.Iteration % 4 {
	case 2:
		request.Messages = step.History[len(step.History)-1:]
	case 3:
		request.Tools = nil
	}
	return stepagent.Ask(request, func(resp llmclient.Response) stepagent.StepResult {
		if calls := resp.Message.Calls(); len(calls) > 0 && resp.Finish != llmclient.FinishLength && request.Tools != nil {
			return stepagent.ToolCalls(calls...)
		}
		return stepagent.Continue()
	})
}

// TestPrefix runs each built-in strategy against a server. Within a frame the body of a request
// begins with the body of the last one, byte for byte, unless the step declares otherwise:
// providers bill up to ten times less for what they have read before.
func TestPrefix(t *testing.T) {
	city := &llmclient.Schema{Name: "city", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
	set := builtin.All()
	set["with a schema"] = completetask.New(completetask.Config{Schema: city, MaxModelCalls: 4})
	set["with a forced choice"] = completetask.New(completetask.Config{Schema: city, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, MaxModelCalls: 4})
	set["with a final tool"] = completetask.New(completetask.Config{
		Schema: city, Answer: completetask.AnswerTool, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "look"},
	})
	set["with critiques in words"] = reflection.New(reflection.Config{Prompts: reflection.Prompts{Critique: "What is wrong?"}, Tools: []string{}, MaxIterations: 4})
	set["with a search"] = completetask.New(completetask.Config{Search: toolsearch.Config{Above: 1, Results: 1}, MaxModelCalls: 9})
	set["with a search and a final tool"] = completetask.New(completetask.Config{
		Schema: city, Answer: completetask.AnswerTool, Search: toolsearch.Config{Above: 1, Results: 1}, MaxModelCalls: 9,
	})
	set["in steps"] = stepagent.New(stepagent.Config{Step: stepping, PlanEvery: 5, FinalTool: "final", MaxIterations: 12})

	set["complete-task that compacts"] = completetask.New(completetask.Config{Compact: &compaction.Config{Window: 150, Keep: 1, MaxTokens: 10, Prompts: compaction.Prompts{Summary: "{{.Summary}}"}}})
	set["react that compacts"] = react.New(react.Config{Compact: &compaction.Config{Window: 700, Keep: 1, How: compaction.Trim}})
	set["reason-act-observe that compacts"] = rao.New(rao.Config{Compact: &compaction.Config{Window: 500, Keep: 2, MaxTokens: 10}})

	declared, extended := map[string]int{}, map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		for seed := range uint64(prove.DepthOr(15, 25)) {
			prefixRun(t, set, name, seed, declared, extended)
		}
	}
	for _, name := range []string{"complete-task", "react", "reflection", "plan-revise-execute", "complete-task that compacts", "react that compacts", "with critiques in words", "in steps", "with a search", "with a search and a final tool"} {
		require.Greater(t, extended[name], 5, "requests of %s that extend the last one", name)
	}
	for _, why := range []string{
		"the conclusion is asked for without tools", "the answer is asked for by a tool instead of a response format",
		"the tool for the answer is offered from now on", "another tool is offered, or none", "each turn has tools and a prompt of its own",
		"a critique is asked for without tools, or as JSON", "a draft is asked for with tools, or as text",
		"a summary of old messages is asked for", "old messages were summarized or left out",
		"the calls and their results are told in words, after a repetition",
		"one of both requests has messages of its own beside the conversation", "tools found: look", "tools found: pay",
	} {
		require.Positive(t, declared[why], why)
	}
}

// prefixRun makes one run, and compares the bodies of its requests.
func prefixRun(t *testing.T, set strategy.Set, name string, seed uint64, declared, extended map[string]int) {
	t.Helper()
	model := whim{rand.New(rand.NewPCG(seed, 1)), strings.HasSuffix(name, "that compacts")}
	var s *server
	s = serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		body, _ := s.Sent()
		model.answer(rw, []byte(body))
	})
	reasoning := []openaichat.Reasoning{openaichat.ReasoningAuto, openaichat.ReasoningNever, openaichat.ReasoningAlways}[seed%3]
	last, problems := map[string]*sentBody{}, []string(nil)
	compare := func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			answer, err := next(ctx, e)
			ask, ok := e.Step.(nextstep.GetChatCompletion)
			if !ok {
				return answer, err
			}
			text, _ := s.Sent()
			now := new(sentBody)
			if err := json.Unmarshal([]byte(text), now); err != nil {
				problems = append(problems, err.Error())
			}
			switch earlier := last[e.Frame]; {
			case earlier == nil && ask.Anew != nil:
				problems = append(problems, "the first request of a frame declares: "+*ask.Anew)
			case ask.Anew != nil && strings.HasPrefix(*ask.Anew, "tools found: ") && !now.offersMore(earlier):
				problems = append(problems, fmt.Sprintf("frame %s found tools after\n%s\n%s\nand sends\n%s", e.Frame, earlier.Tools, earlier.Messages, text))
			case ask.Anew != nil:
				declared[*ask.Anew]++
			case earlier != nil && !now.begins(earlier):
				problems = append(problems, fmt.Sprintf("frame %s declares nothing after\n%s\nand sends\n%s", e.Frame, earlier.Messages, text))
			case earlier != nil:
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
		Client:     newClient(t, s, func(c *openaichat.Config) { c.Reasoning = reasoning }),
		Strategies: set, Tools: []tools.Tool{look("look"), look("pay")}, Middleware: []orchestrator.Middleware{compare},
		Limits: delegation.Limits{ModelCalls: 40},
	})
	require.NoError(t, err)
	_, _ = o.Run(context.Background(), orchestrator.Task{Strategy: name, Input: delegation.Input{Goal: "Where is it?"}})
	s.Close()
	require.Empty(t, problems, "%s, seed %d", name, seed)
}
