package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// This file makes two versions of a program: a plan, which has a desk do the work, which calls an
// agent, which wants to pay. In the second the strategy of the plan has another name, another name
// for a state, and another memory.

// plan delegates the work to the desk. Its two versions differ in their table and their memory.
type plan struct {
	fsm     *strategy.FSM
	version int
	memory  planMemory
	strategy.Defaults
}

type planMemory struct {
	Version int    `json:"version,omitempty"`
	Goal    string `json:"goal"`
}

func planTable(working strategy.State) *strategy.Table {
	return &strategy.Table{
		Name: "plan", Initial: "ready",
		States: []strategy.StateRule{
			{Name: "ready"}, {Name: working, Awaits: nextstep.KindDelegate}, {Name: "done", Awaits: nextstep.KindComplete},
		},
		Rules: []strategy.Rule{
			{From: []strategy.State{"ready"}, On: "start", To: working}, {From: []strategy.State{working}, On: "end", To: "done"},
		},
	}
}

func (p *plan) FSM() *strategy.FSM                 { return p.fsm }
func (p *plan) Snapshot() (json.RawMessage, error) { return json.Marshal(p.memory) }

func (p *plan) Restore(s json.RawMessage) error {
	err := json.Unmarshal(s, &p.memory)
	if err == nil && p.memory.Version != p.version {
		err = errors.New("it is the memory of another version")
	}
	return err
}

func (p *plan) Initialize(in delegation.Input) nextstep.NextStep {
	p.memory = planMemory{p.version, in.Goal}
	return p.fsm.Then("start", nextstep.Delegate{Strategy: "desk", Input: in})
}

func (p *plan) ProcessDelegationResult(o delegation.Output) nextstep.NextStep {
	return p.fsm.Then("end", done(p.memory.Goal+": "+o.Text()))
}

// desk asks a model once, with a tool on offer, and makes its calls.
type desk struct {
	tool string
	strategy.Defaults
}

func (d *desk) Snapshot() (json.RawMessage, error) { return json.RawMessage(`{}`), nil }
func (d *desk) Restore(json.RawMessage) error      { return nil }

func (d *desk) Initialize(in delegation.Input) nextstep.NextStep { return ask(in.Goal, d.tool) }

func (d *desk) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	return nextstep.ExecuteTools{Calls: r.Message.Calls()}
}

func (d *desk) ProcessToolResults(r []messages.ToolOutput) nextstep.NextStep {
	return done(r[0].Output)
}

// bank is a store with the programs that work on it.
type bank struct {
	t     *testing.T
	store checkpoint.Store
	paid  atomic.Int32
}

// program returns a version of the program: 1 or 2.
func (b *bank) program(version int, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	b.t.Helper()
	name, table := "planner", planTable("working")
	if version == 2 {
		name, table = "manager", planTable("managing")
	}
	pay := tools.NewRaw(tools.Definition{Name: "pay", NeedsApproval: true}, func(context.Context, string) (string, error) {
		b.paid.Add(1)
		return "paid", nil
	})
	cfg := orchestrator.Config{
		Client: scripted.New(scripted.Calls(scripted.Call("clerk", `{"goal":"pay"}`, "c1")), scripted.Calls(scripted.Call("pay", `{"to":"Ada"}`, "c2"))),
		Strategies: strategy.Set{
			name:    func() strategy.Strategy { return &plan{fsm: table.New(nil), version: version} },
			"desk":  func() strategy.Strategy { return &desk{tool: "clerk"} },
			"clerk": func() strategy.Strategy { return &desk{tool: "pay"} },
		},
		Default: name, Tools: []tools.Tool{pay, orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "clerk"}, Strategy: "clerk"})},
		Store: b.store, Version: []string{"", "v1", "v2"}[version], Snapshots: true,
	}
	cfg.Timeouts.Store = -1
	for _, e := range edit {
		e(&cfg)
	}
	o, err := orchestrator.New(cfg)
	require.NoError(b.t, err)
	return o
}

// migrating lets the second version go on with the runs of the first.
func migrating(c *orchestrator.Config) {
	set := c.Strategies
	c.Migrate = func(s *machine.Snapshot) error {
		for f := range s.Of("planner") {
			f.Become(set, "manager")
			f.Position.State = "managing"
			var m planMemory
			if err := json.Unmarshal(f.Memory, &m); err != nil {
				return err
			}
			m.Version, m.Goal = 2, m.Goal+" as planned"
			f.Memory, _ = json.Marshal(m)
		}
		return nil
	}
}

// waiting has the first version begin a run, up to the wait for an approval, and returns its id.
func (b *bank) waiting(edit ...func(*orchestrator.Config)) string {
	b.t.Helper()
	res, err := b.program(1, edit...).Run(b.t.Context(), task("Pay Ada"))
	require.NoError(b.t, err)
	require.Equal(b.t, machine.StatusWaiting, res.Status)
	require.Equal(b.t, "0.1.1", res.Waits[0].Frame)
	return res.Waits[0].ID
}

// kinds returns the types of the records of a run.
func (b *bank) kinds() (list []string) {
	b.t.Helper()
	for _, rec := range recordsIn(b.t, b.store, "r") {
		list = append(list, machine.TypeOf(rec))
	}
	return list
}

// left copies the run as a process leaves it that dies when so many records are stored.
func (b *bank) left(records int) *bank {
	b.t.Helper()
	other := &bank{t: b.t, store: new(checkpoint.Memory)}
	key := checkpoint.Key{Run: "r"}
	for rec, err := range b.store.Read(b.t.Context(), key, 1) {
		require.NoError(b.t, err)
		if rec.Seq > records {
			break
		}
		require.NoError(b.t, other.store.Append(b.t.Context(), checkpoint.Batch{
			Key: key, Records: []checkpoint.Record{rec}, Writer: "dead", Epoch: 1, Header: &checkpoint.Header{Status: checkpoint.StatusRunning, Version: "v1"},
		}))
	}
	from, ok := checkpoint.As[checkpoint.SnapshotStore](b.store)
	require.True(b.t, ok)
	saved, err := from.Snapshot(b.t.Context(), key)
	require.NoError(b.t, err)
	if saved.Records <= records {
		require.NoError(b.t, other.store.(checkpoint.SnapshotStore).SaveSnapshot(b.t.Context(), key, saved))
	}
	return other
}
