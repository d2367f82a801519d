package strategytest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategytest"
)

// keeper asks up to three times, and remembers what it was told. The flaw makes its snapshots go
// wrong. It has no FSM: its memory has its place too.
type keeper struct {
	strategy.Defaults
	flaw   string
	memory keeperMemory
	kept   json.RawMessage
	taken  int
	last   json.RawMessage
}

type keeperMemory struct {
	Given messages.History `json:"given"`
	Asked int              `json:"asked"`
	Told  []string         `json:"told"`
}

func keeping(flaw string) strategytest.Subject {
	return strategytest.Subject{New: func() strategy.Strategy { return &keeper{flaw: flaw} }, Steps: prove.DepthOr(2, 3)}
}

func (k *keeper) Initialize(in delegation.Input) nextstep.NextStep {
	k.memory.Given, _ = in.Conversation("")
	return k.ask()
}

func (k *keeper) ask() nextstep.NextStep {
	k.memory.Asked++
	said := messages.UserText("You said: " + k.saved())
	step := nextstep.GetChatCompletion{Request: llmclient.Request{Messages: append(k.memory.Given.Clip(), said), MaxTokens: k.memory.Asked}}
	if k.memory.Asked > 1 {
		step.Anew = new("what was said is told in one message")
	}
	return step
}

func (k *keeper) saved() string {
	data, _ := json.Marshal(k.memory.Told)
	return string(data)
}

func (k *keeper) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	if k.flaw == "is another after a restore" && k.kept != nil {
		return nextstep.Complete{}
	}
	k.memory.Told = append(k.memory.Told, resp.Message.Text())
	if k.memory.Asked == 3 {
		return nextstep.Complete{Output: delegation.Output{Result: new(k.saved())}}
	}
	return k.ask()
}

func (k *keeper) Conclude(string) delegation.Output {
	if k.flaw == "forgets its work" && k.kept != nil {
		return delegation.Output{}
	}
	return delegation.Output{Result: new(k.saved())}
}

func (k *keeper) Snapshot() (json.RawMessage, error) {
	m := k.memory
	switch k.flaw {
	case "leaves out what it was told":
		m.Told = nil
	case "counts snapshots":
		m.Asked += 100 * k.taken
	case "cannot be snapshot":
		return nil, errors.New("no")
	case "panics":
		panic("oops")
	case "hands out its own bytes":
		if k.last == nil || k.taken != m.Asked {
			k.last, _ = json.Marshal(m)
			k.taken = m.Asked
		}
		return k.last, nil
	}
	k.taken++
	return json.Marshal(m)
}

func (k *keeper) Restore(snapshot json.RawMessage) error {
	k.kept = snapshot
	if k.flaw == "refuses its own" {
		return errors.New("no")
	}
	return json.Unmarshal(snapshot, &k.memory)
}

func TestCheck_snapshots(t *testing.T) {
	require.NoError(t, strategytest.Check(keeping("")))
	for flaw, want := range map[string]string{
		"leaves out what it was told": "after [#1 text, #2 text]: in a restored strategy, told: [an answer] became null",
		"counts snapshots":            "its snapshot is not the same the second time",
		"cannot be snapshot":          "it cannot be snapshot: no",
		"panics":                      "Snapshot or Restore panicked: oops",
		"hands out its own bytes":     "its snapshot is not the same the second time",
		"refuses its own":             "it cannot be restored: no",
		"is another after a restore":  "restored before the last reaction, it asks for nothing, or remembers something else",
		"forgets its work":            "after [stop, #1 text]: ",
	} {
		t.Run(flaw, func(t *testing.T) {
			require.ErrorContains(t, strategytest.Check(keeping(flaw)), want)
		})
	}
	refuses := keeping("cannot be snapshot")
	refuses.NoSnapshot = true
	require.NoError(t, strategytest.Check(refuses))
}

// A step agent whose State would not come back from its JSON form has no snapshot, instead of a
// wrong one.
func TestStepAgent_stateWithoutJSON(t *testing.T) {
	type hidden struct {
		Seen int `json:"seen"`
		more int
	}
	type cyclic struct{ Next any }
	ask := func(step stepagent.Step) stepagent.StepResult {
		switch state := step.State.(type) {
		case *hidden:
			state.Seen++
			state.more++
		case *cyclic:
			state.Next = func() {}
		case map[string]int:
			state["seen"]++
			delete(state, "first")
		}
		return stepagent.ToolCalls(messages.ToolCall{Name: "look", Arguments: "{}"})
	}
	for name, test := range map[string]struct {
		state func() any
		want  string
	}{
		"unexported field": {func() any { return &hidden{} }, "the State (*strategytest_test.hidden) has no JSON form: it reads as another value"},
		"function":         {func() any { return &cyclic{} }, "the State (*strategytest_test.cyclic) has no JSON form: json: unsupported type: func()"},
		"map":              {func() any { return map[string]int{"first": 1} }, ""},
		"nothing":          {func() any { return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			factory := stepagent.New(stepagent.Config{Step: ask, NewState: test.state})
			st := factory()
			st.Initialize(delegation.Input{Goal: "a task"})
			snapshot, err := st.(strategy.Snapshotter).Snapshot()
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, factory().(strategy.Snapshotter).Restore(snapshot))
		})
	}
}

// A step that awaits a reply is taken again when it is restored. If it then does something else, it
// is not pure, and has no snapshot.
func TestStepAgent_stepThatIsNotPure(t *testing.T) {
	taken := 0
	factory := stepagent.New(stepagent.Config{Step: func(step stepagent.Step) stepagent.StepResult {
		if taken++; taken > 1 {
			return stepagent.Finish("another thing")
		}
		return stepagent.Ask(llmclient.Request{}, func(llmclient.Response) stepagent.StepResult { return stepagent.Finish("done") })
	}})
	st := factory()
	st.Initialize(delegation.Input{Goal: "a task"})
	_, err := st.(strategy.Snapshotter).Snapshot()
	require.ErrorContains(t, err, "does not ask for it when it is taken again")
}
