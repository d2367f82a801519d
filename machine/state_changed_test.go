package machine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// asker asks until a reply says "enough". At "twice" it makes two moves in one method.
type asker struct {
	fsm *strategy.FSM
	strategy.Defaults
}

func newAsker() strategy.Strategy {
	table := &strategy.Table{
		Name: "asker", Initial: "ready",
		States: []strategy.StateRule{
			{Name: "ready"},
			{Name: "asking", Awaits: nextstep.KindGetChatCompletion},
			{Name: "doubting", Awaits: nextstep.KindGetChatCompletion},
			{Name: "done", Awaits: nextstep.KindComplete},
		},
		Rules: []strategy.Rule{
			{From: []strategy.State{"ready"}, On: "started", To: "asking"},
			{From: []strategy.State{"asking"}, On: "reasked", To: "asking", Cap: "asks"},
			{From: []strategy.State{"asking"}, On: "doubted", To: "doubting"},
			{From: []strategy.State{"asking", "doubting"}, On: "finished", To: "done"},
		},
	}
	return &asker{fsm: table.New(strategy.Caps{"asks": strategy.Unbounded})}
}

func (a *asker) FSM() *strategy.FSM { return a.fsm }

func (a *asker) Initialize(in delegation.Input) nextstep.NextStep {
	return a.fsm.Then("started", ask(in.Goal))
}

func (a *asker) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	switch r.Message.Text() {
	case "enough":
		return a.fsm.Then("finished", done("ok"))
	case "twice":
		a.fsm.Then("doubted", ask("hm"))
		return a.fsm.Then("finished", done("ok"))
	default:
		return a.fsm.Then("reasked", ask("again"))
	}
}

// still is a strategy without a table.
type still struct{ strategy.Defaults }

func (still) Initialize(delegation.Input) nextstep.NextStep { return ask("go") }

func (still) ProcessAPIResponse(llmclient.Response) nextstep.NextStep { return ask("again") }

// movesOf begins a run, answers it with replies, and returns the moves that its events tell.
func movesOf(t *testing.T, build func() strategy.Strategy, replies ...string) (moves []machine.StateChanged) {
	t.Helper()
	m := machine.New(&machine.Config{Strategies: strategy.Set{"main": build}})
	listen := func() {
		for _, e := range m.Ready().Events {
			if d, ok := e.Detail.(machine.StateChanged); ok {
				require.Equal(t, machine.EventStateChanged, e.Kind)
				moves = append(moves, d)
			}
		}
		m.Advance()
	}
	require.NoError(t, m.Apply(machine.Started{At: time.Unix(1, 0), Run: "r"}))
	listen()
	for _, text := range replies {
		require.NoError(t, m.Apply(m.Open()[0].Answered(said(text), time.Unix(1, 0), 0)))
		listen()
	}
	return moves
}

func TestStateChanged_saysWhy(t *testing.T) {
	require.Equal(t, []machine.StateChanged{
		{Strategy: "main", From: "ready", To: "asking", On: "started"},
		{Strategy: "main", From: "asking", To: "asking", On: "reasked"},
		{Strategy: "main", From: "asking", To: "asking", On: "reasked"},
		{Strategy: "main", From: "asking", To: "done", On: "finished"},
	}, movesOf(t, newAsker, "hm", "hm", "enough"), "a move to the same state is told as well")
}

// No rule leads from the first of three states to the last.
func TestStateChanged_severalMoves(t *testing.T) {
	require.Equal(t, machine.StateChanged{Strategy: "main", From: "asking", To: "done"}, movesOf(t, newAsker, "twice")[1])
}

// The position that is set when a run is restored is no move: the first event tells the move after
// it.
func TestStateChanged_afterSnapshot(t *testing.T) {
	cfg := office(clerks("acting"))
	e := waiting(t, cfg)
	m := machine.New(cfg)
	require.NoError(t, m.Apply(machine.Migrated{At: e.tick(), Snapshot: snapshotOf(t, e.m)}))
	require.NoError(t, m.Apply(machine.Replied{At: e.tick(), Reply: machine.Reply{WaitID: m.Waits()[0].ID}}))
	var moves []machine.StateChanged
	for _, e := range m.Ready().Events {
		if d, ok := e.Detail.(machine.StateChanged); ok {
			moves = append(moves, d)
		}
	}
	require.Equal(t, []machine.StateChanged{
		{Strategy: "clerk", From: "acting", To: "done", On: "end"}, {Strategy: "clerk", From: "acting", To: "done", On: "end"},
	}, moves, "the agent's and then its caller's")
}

// A move costs no memory from the second time on, be it to the same state.
func TestStateChanged_allocatesNothing(t *testing.T) {
	if machine.RaceDetector {
		t.Skip("the race detector allocates")
	}
	cost := func(build func() strategy.Strategy) float64 {
		m := machine.New(&machine.Config{Strategies: strategy.Set{"main": build}, Limits: delegation.Limits{Steps: -1, ModelCalls: -1}})
		require.NoError(t, m.Apply(machine.Started{At: time.Unix(1, 0), Run: "r"}))
		answer := func() {
			if m.Apply(m.Open()[0].Answered(said("hm"), time.Unix(1, 0), 0)) != nil {
				panic("refused")
			}
			m.Advance()
		}
		answer()
		return testing.AllocsPerRun(200, answer)
	}
	require.LessOrEqual(t, cost(newAsker), cost(func() strategy.Strategy { return still{} }), "the same steps, with moves and without")
}
