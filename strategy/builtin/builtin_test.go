package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools"
)

// Every strategy can be made from an empty Config, under each of its names, and has the table of
// that name.
func TestNew_everyName(t *testing.T) {
	names := builtin.Names()
	for alias, name := range builtin.Aliases() {
		require.Contains(t, builtin.Names(), name, alias)
		require.NotContains(t, builtin.Names(), alias)
		names = append(names, alias)
	}
	for _, name := range names {
		for _, config := range []string{"", "null", "{}", " {} "} {
			factory, err := builtin.New(name, json.RawMessage(config))
			require.NoError(t, err, name)
			require.NotNil(t, factory())
		}
		require.NoError(t, builtin.Table(name).Validate(), name)
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		require.NoError(t, json.Unmarshal(builtin.Schema(name), &schema), name)
		require.Equal(t, slices.Sorted(maps.Keys(schema.Properties)), builtin.Keys(name), name)
	}
	want := slices.AppendSeq(builtin.Names(), maps.Keys(builtin.Aliases()))
	require.ElementsMatch(t, want, builtin.All().Names())
	require.Contains(t, want, "default")
	for _, seed := range []string{"default", "planning", "plan-and-execute", "reflection", "react", "retry", "tool-first", "llm-only"} {
		require.Contains(t, names, seed)
	}
}

// S1-33, S3-18: an unknown name is an error that lists the known names. No other strategy is used
// instead.
func TestS1_33_S3_18_unknownName(t *testing.T) {
	_, err := builtin.New("reflexion", nil)
	var unknown *strategy.UnknownError
	require.ErrorAs(t, err, &unknown)
	require.ErrorContains(t, err, "complete-task")
	require.ErrorContains(t, err, "plan-and-execute")
	require.Nil(t, builtin.Table("reflexion"))
	require.Nil(t, builtin.Schema("reflexion"))
	require.Nil(t, builtin.Keys("reflexion"))
	_, err = builtin.Set(map[string]builtin.Spec{"a": {Strategy: "default"}, "b": {Strategy: "nobody"}, "c": {Strategy: "nowhere"}})
	require.ErrorContains(t, err, `"b"`)
	require.ErrorContains(t, err, `"c"`)
}

// The error of an invalid Config says where it is wrong, all places at once.
func TestNew_badConfig(t *testing.T) {
	_, err := builtin.New("plan-revise-execute", json.RawMessage(`{"max_stepz":3,"prompts":{"plam":"x"},"system":4}`))
	var wrong *tools.ArgumentError
	require.ErrorAs(t, err, &wrong)
	require.ErrorContains(t, err, `unknown "max_stepz"`)
	require.ErrorContains(t, err, `/prompts: unknown "plam"`)
	require.ErrorContains(t, err, "/system: got number")
	_, err = builtin.New("default", json.RawMessage(`{`))
	require.Error(t, err)
	_, err = builtin.New("default", json.RawMessage(`{"on_limit":"explode"}`))
	require.ErrorContains(t, err, `"explode" is not one of`)
	_, err = builtin.New("default", json.RawMessage(`{"prompts":{"empty":"{{"}}`))
	require.ErrorContains(t, err, "Prompts")
}

// A Config cannot contradict the name of a preset: the error names the key.
func TestNew_brokenPromise(t *testing.T) {
	for _, c := range []struct{ name, config, pointer string }{
		{"llm-only", `{"tools":["add"]}`, "/tools"},
		{"llm-only", `{"tools":null}`, "/tools"},
		{"tool-first", `{"tool_choice":{"mode":"auto"}}`, "/tool_choice"},
		{"tool-first", `{"tool_choice":{"mode":"none"}}`, "/tool_choice"},
		{"tool-first", `{"tool_choice":{}}`, "/tool_choice"},
		{"tool-first", `{"tool_choice":null}`, "/tool_choice"},
		{"tool-first", `{"tools":[]}`, "/tools"},
	} {
		_, err := builtin.New(c.name, json.RawMessage(c.config))
		var wrong *tools.ArgumentError
		require.ErrorAs(t, err, &wrong, "%s %s", c.name, c.config)
		require.Equal(t, c.pointer, wrong.Problems[0].Pointer)
		require.ErrorContains(t, err, "the config of "+c.name)
	}
	_, err := builtin.New("complete-task", json.RawMessage(`{"tools":["add","add"]}`))
	require.ErrorContains(t, err, `Tools: names ["add"] more than once`)
}

// The variants differ from their base strategies in their defaults.
func TestNew_variants(t *testing.T) {
	run := func(name, config string) *scripted.Client {
		factory, err := builtin.New(name, json.RawMessage(config))
		require.NoError(t, err)
		model := scripted.New(scripted.Text("done"))
		add := tools.New(tools.Definition{Name: "add"}, func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil })
		o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: strategy.Set{"x": factory}, Tools: []tools.Tool{add}})
		require.NoError(t, err)
		_, err = o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "go"}})
		require.NoError(t, err)
		return model
	}
	require.EqualValues(t, "required", run("tool-first", "").Requests()[0].ToolChoice.Mode)
	add := llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "add"}
	require.Equal(t, add, run("tool-first", `{"tool_choice":{"mode":"tool","name":"add"}}`).Requests()[0].ToolChoice)
	require.Empty(t, run("llm-only", "").Requests()[0].Tools)
	require.Empty(t, run("llm-only", `{"tools":[],"system":"Be brief."}`).Requests()[0].Tools)
	require.Len(t, run("default", "").Requests()[0].Tools, 1)
}

// S4-26: strategies come from a configuration, a request may name another, and no state is kept
// between runs.
func TestS4_26_byConfiguration(t *testing.T) {
	set, err := builtin.Set(map[string]builtin.Spec{
		"brief": {Strategy: "llm-only", Config: json.RawMessage(`{"system":"Be brief."}`)},
		"long":  {Strategy: "llm-only", Config: json.RawMessage(`{"system":"Be thorough."}`)},
	})
	require.NoError(t, err)
	model := scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("3"))
	o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: set, Default: "brief"})
	require.NoError(t, err)
	for _, name := range []string{"", "long", ""} {
		_, err := o.Run(t.Context(), orchestrator.Task{Strategy: name, Input: delegation.Input{Goal: "go"}})
		require.NoError(t, err)
	}
	var prompts []string
	for _, req := range model.Requests() {
		require.Len(t, req.Messages, 2)
		text, err := json.Marshal(req.Messages[0])
		require.NoError(t, err)
		prompts = append(prompts, string(text))
	}
	require.Contains(t, prompts[0], "brief")
	require.Contains(t, prompts[1], "thorough")
	require.Equal(t, prompts[0], prompts[2])
}

// A wrong compaction is refused by what is wrong with it, and where.
func TestNew_compaction(t *testing.T) {
	for _, name := range []string{"complete-task", "react", "reason-act-observe"} {
		_, err := builtin.New(name, json.RawMessage(`{"compact":{"window":128000,"keep":6,"how":"trim"}}`))
		require.NoError(t, err)
		_, err = builtin.New(name, json.RawMessage(`{"compact":{"window":7,"at":2}}`))
		require.ErrorContains(t, err, "compaction: Window: 7 is not a number of tokens of at least 100: give what the model can read, or 0 if you do not know it", name)
		require.ErrorContains(t, err, "compaction: At: 2 is not a share of the Window", name)
		_, err = builtin.New(name, json.RawMessage(`{"compact":{"windows":128000}}`))
		require.ErrorContains(t, err, "compact", name)
		require.ErrorContains(t, err, "windows", name)
	}
}

// A summary is asked of the model that the strategy asks, unless the compaction names one.
func TestCompaction_model(t *testing.T) {
	in := delegation.Input{Goal: "Go on."}
	for i := range 4 {
		in.Messages = append(in.Messages, messages.UserText(fmt.Sprintf("Question %d: %s", i, strings.Repeat("why? ", 40))), messages.AssistantText("So."))
	}
	for name, answer := range map[string]string{
		"complete-task": "so it is", "react": "Final Answer: so it is", "reason-act-observe": `{"finish":true,"final_answer":"so it is"}`,
	} {
		for given, want := range map[string]string{"": "own", `,"model":"cheap"`: "cheap"} {
			made, err := builtin.New(name, json.RawMessage(`{"model":"own","compact":{"window":300,"keep":1,"max_tokens":20`+given+`}}`))
			require.NoError(t, err)
			var summarized, answered []string
			model := scripted.Reply{Times: -1, Func: func(r *llmclient.Request) scripted.Reply {
				if r.MaxTokens == 20 {
					summarized = append(summarized, r.Model)
				} else {
					answered = append(answered, r.Model)
				}
				return scripted.Text(answer)
			}}
			o, err := orchestrator.New(orchestrator.Config{Client: scripted.New(model), Strategies: strategy.Set{name: made}})
			require.NoError(t, err)
			res, err := o.Run(t.Context(), orchestrator.Task{Input: in})
			require.NoError(t, err, name)
			require.Equal(t, machine.StatusDone, res.Status)
			require.Equal(t, []string{want}, summarized, name)
			require.Equal(t, []string{"own"}, slices.Compact(answered), name)
		}
	}
}
