package machine_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// clerks is the table of a clerk, with a name for the state in which it waits for its calls.
func clerks(acting strategy.State) *strategy.Table {
	return &strategy.Table{
		Name: "clerk", Initial: "ready",
		States: []strategy.StateRule{
			{Name: "ready"},
			{Name: "asking", Awaits: nextstep.KindGetChatCompletion},
			{Name: acting, Awaits: nextstep.KindExecuteTools},
			{Name: "done", Awaits: nextstep.KindComplete},
		},
		Rules: []strategy.Rule{
			{From: []strategy.State{"ready"}, On: "start", To: "asking"},
			{From: []strategy.State{"asking"}, On: "call", To: acting, Cap: "calls"},
			{From: []strategy.State{acting}, On: "end", To: "done"},
		},
	}
}

// clerk asks a model once, and makes its calls.
type clerk struct {
	fsm  *strategy.FSM
	goal string
	strategy.Defaults
}

func newClerk(table *strategy.Table) func() strategy.Strategy {
	return func() strategy.Strategy { return &clerk{fsm: table.New(strategy.Caps{"calls": 2})} }
}

func (c *clerk) FSM() *strategy.FSM                 { return c.fsm }
func (c *clerk) Snapshot() (json.RawMessage, error) { return json.Marshal(c.goal) }
func (c *clerk) Restore(s json.RawMessage) error {
	if string(s) == `"break"` {
		panic("broken")
	}
	return json.Unmarshal(s, &c.goal)
}

func (c *clerk) Initialize(in delegation.Input) nextstep.NextStep {
	c.goal = in.Goal
	return c.fsm.Then("start", ask(in.Goal, "guarded", "agent1"))
}

func (c *clerk) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	return c.fsm.Then("call", nextstep.ExecuteTools{Calls: r.Message.Calls()})
}

func (c *clerk) ProcessToolResults(r []messages.ToolOutput) nextstep.NextStep {
	return c.fsm.Then("end", done(c.goal+": "+texts(r)))
}

// forgetful is a clerk that is no Snapshotter.
type forgetful struct {
	strategy.Strategy
	clerk *clerk
}

func (f forgetful) FSM() *strategy.FSM { return f.clerk.fsm }

// office is the Config of a clerk that calls another one, who wants to call a tool that somebody
// has to approve.
func office(table *strategy.Table) *machine.Config {
	cfg := generated(nil)
	cfg.Strategies["clerk"] = newClerk(table)
	cfg.Tools = append(cfg.Tools, tooling[0])
	cfg.Tools[len(cfg.Tools)-1].Name = "agent1"
	cfg.Agents["agent1"] = &machine.Agent{Strategy: "clerk", Inputs: func(args string) ([]delegation.Input, bool, error) {
		return []delegation.Input{{Goal: args}}, false, nil
	}}
	return cfg
}

// waiting begins a run of the office, up to the point at which it waits.
func waiting(t tester, cfg *machine.Config) *engine {
	t.Helper()
	e := drive(t, cfg, machine.Started{Strategy: "clerk", Input: delegation.Input{Goal: "go"}})
	e.answer("1", calling("agent1"))
	e.answer("3", calling("guarded"))
	require.Equal(t, machine.StatusWaiting, e.m.Status())
	return e
}

// A change of a table is refused by name, until the frames say that they know of it.
func TestMigrated_renamedState(t *testing.T) {
	e := waiting(t, office(clerks("acting")))
	s := snapshotOf(t, e.m)
	changed := office(clerks("calling"))
	m := machine.New(changed)
	err := m.Apply(machine.Migrated{At: e.tick(), Snapshot: s})
	refused, ok := errors.AsType[*machine.SnapshotError](err)
	require.True(t, ok, "%v", err)
	was, now := clerks("acting").Fingerprint(), clerks("calling").Fingerprint()
	require.Equal(t, []string{"r", "0", "clerk", was, now}, []string{refused.Run, refused.Frame, refused.Strategy, refused.Recorded, refused.Now})
	require.ErrorContains(t, err, was)
	require.ErrorContains(t, err, now)
	require.Empty(t, m.Run(), "nothing has changed")

	for f := range s.Of("clerk") {
		f.Become(changed.Strategies, "clerk")
		require.Equal(t, strategy.Position{State: "acting", Left: map[string]int{"calls": 1}}, *f.Position)
		f.Position.State = "calling"
	}
	s.Frame("0").Memory = json.RawMessage(`"changed"`)
	require.Nil(t, s.Frame("0.7"))
	r := machine.Migrated{At: e.tick(), From: "v1", Snapshot: s}
	require.NoError(t, m.Apply(r))
	moved := take(m).events
	require.Equal(t, machine.RunMigrated{From: "v1", Skipped: s.Records, Open: []machine.OpenFrame{
		{Frame: "0", Strategy: "clerk", State: "calling"},
		{Frame: "0.1", Strategy: "clerk", State: "calling", CallID: "c1", Tool: "agent1"},
	}}, moved[0].Detail)
	require.NoError(t, m.Apply(machine.Replied{At: e.tick(), Reply: machine.Reply{WaitID: m.Waits()[0].ID, Approve: true}}))
	intent := m.Ready().Intents[0].(machine.Intended)
	intent.At = e.tick()
	require.NoError(t, m.Apply(intent))
	require.True(t, m.Ready().Effects[0].Approved)
	x := m.Ready().Effects[0]
	require.NoError(t, m.Apply(x.Answered(result("c1", "yes"), e.tick(), 0)))
	require.Equal(t, "changed: {}: yes", m.Output().Text())

	// a fold that broke off goes on with it; one that has come further does not
	broken := fold(t, changed, e.records[:1])
	require.NoError(t, broken.Apply(r))
	require.Equal(t, s.Records-1, broken.Ready().Events[len(broken.Ready().Events)-1].Detail.(machine.RunMigrated).Skipped)
	require.Equal(t, s.Records+1, broken.Records())
	require.ErrorContains(t, broken.Apply(r), "its snapshot stands for 5 records, and the run has 6")
	other := drive(t, changed, machine.Started{Strategy: "clerk", Run: "r2"})
	require.ErrorContains(t, other.m.Apply(r), `its snapshot is of run "r"`)
	e.m.Advance()
	require.ErrorContains(t, e.m.Apply(r), was, "the old program knows no such table")
	e.stop(machine.Stopped{})
	require.ErrorIs(t, e.m.Apply(r), machine.ErrDone)
}

func TestMigrated_refuses(t *testing.T) {
	cfg := office(clerks("acting"))
	cfg.Strategies["forgetful"] = func() strategy.Strategy {
		c := newClerk(clerks("acting"))().(*clerk)
		return forgetful{c, c}
	}
	cfg.Strategies["broken"] = func() strategy.Strategy { panic("no") }
	e := waiting(t, cfg)
	for name, test := range map[string]struct {
		edit func(*machine.Snapshot)
		want string
	}{
		"format":    {func(s *machine.Snapshot) { s.Format = 2 }, "it has the format 2, and this version of the library reads 1"},
		"unknown":   {func(s *machine.Snapshot) { s.Frames[1].Strategy = "none" }, `frame 0.1: strategy "none": it cannot be made: strategy: no strategy "none"`},
		"panics":    {func(s *machine.Snapshot) { s.Frames[1].Strategy = "broken" }, `it cannot be made: the factory of strategy "broken" panicked`},
		"forgetful": {func(s *machine.Snapshot) { s.Frames[1].Strategy = "forgetful" }, `strategy "forgetful": it is no strategy.Snapshotter`},
		"table":     {func(s *machine.Snapshot) { s.Frames[1].Fingerprint = "" }, `and that of the snapshot is ""`},
		"state":     {func(s *machine.Snapshot) { s.Frames[1].Position.State = "x" }, `its position does not fit: strategy: table "clerk": a position does not fit: state "x"`},
		"memory":    {func(s *machine.Snapshot) { s.Frames[1].Memory = json.RawMessage(`1`) }, "its memory cannot be restored: json"},
		"panicking": {func(s *machine.Snapshot) { s.Frames[1].Memory = json.RawMessage(`"break"`) }, "its memory cannot be restored: panicked with a string"},
		"no root":   {func(s *machine.Snapshot) { s.Frames = s.Frames[1:] }, "frame 0.1: strategy \"clerk\": the frame above it is missing"},
		"no frames": {func(s *machine.Snapshot) { s.Frames = []machine.FrameSnapshot{} }, "it is of a run that does not wait"},
		"twice":     {func(s *machine.Snapshot) { s.Frames = append(s.Frames, s.Frames[1]) }, "there are two frames of that name"},
		"no branch": {func(s *machine.Snapshot) { s.Frames = s.Frames[:1] }, "its call 2/1 has no branch"},
		"no call":   {func(s *machine.Snapshot) { s.Frames[1].Branch.Call.Index = 7 }, "its branch answers no call of the frame above it"},
		"delegated": {func(s *machine.Snapshot) { s.Frames[1].Branch = nil }, "it waits for nothing, or for effects and a child"},
		"no calls":  {func(s *machine.Snapshot) { s.Frames[1].Calls = nil }, "it waits for nothing, or for effects and a child"},
		"one step":  {func(s *machine.Snapshot) { s.Frames[1].Seq = s.Frames[0].Seq }, "it waits for two steps, or for the step of another frame"},
		"progress":  {func(s *machine.Snapshot) { s.Frames[1].Calls[0].State = "open" }, `its effect 4/1 cannot have the state "open"`},
		"no tool":   {func(s *machine.Snapshot) { s.Frames[1].Offered = nil }, `its effect 4/1 calls the tool "guarded", which the strategy may not call any more`},
		"agent":     {func(s *machine.Snapshot) { s.Frames[1].Calls[0].Agent = true }, `its effect 4/1 calls "guarded", which is an agent in one version`},
		"no wait":   {func(s *machine.Snapshot) { s.Frames[1].Calls[0].Waits = nil }, "its effect 4/1 must be in the state waiting if it has an open wait, and only then"},
		"same wait": {
			func(s *machine.Snapshot) {
				s.Frames[1].Calls[0].Waits = append(s.Frames[1].Calls[0].Waits, s.Frames[1].Calls[0].Waits...)
			}, "its effect 4/1 has a wait that the snapshot has twice",
		},
		"step": {
			func(s *machine.Snapshot) {
				s.Frames[1].Calls, s.Frames[1].Effect = nil, &s.Frames[1].Calls[0]
			}, "its effect 4 cannot be read",
		},
		"results": {
			func(s *machine.Snapshot) {
				c := &s.Frames[1].Calls[0]
				c.State, c.Waits, c.Result = "", nil, &messages.ToolOutput{CallID: "c1", ToolName: "guarded", Status: messages.StatusOK}
			}, "all of its calls have a result",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshotOf(t, e.m)
			test.edit(&s)
			m := machine.New(cfg)
			require.ErrorContains(t, m.Apply(machine.Migrated{At: e.now, Snapshot: s}), test.want)
			require.Empty(t, m.Run())
			require.Empty(t, m.Ready().Events)
		})
	}
}

// There is no snapshot of a run that does not wait, or whose strategies cannot be written down.
func TestSnapshot_refuses(t *testing.T) {
	cfg := office(clerks("acting"))
	refused := func(m *machine.Machine) string {
		_, err := m.Snapshot()
		_, ok := errors.AsType[*machine.SnapshotError](err)
		require.True(t, ok, "%v", err)
		return err.Error()
	}
	require.Contains(t, refused(machine.New(cfg)), "the run does not wait for people alone")
	e := drive(t, cfg, machine.Started{Strategy: "clerk"})
	require.Contains(t, refused(e.m), "the run does not wait for people alone")
	cfg = office(clerks("acting"))
	cfg.Strategies["clerk"] = func() strategy.Strategy {
		c := newClerk(clerks("acting"))().(*clerk)
		return forgetful{c, c}
	}
	require.Equal(t, `machine: the snapshot of run "r", frame 0: strategy "clerk": it is no strategy.Snapshotter: its memory cannot be written down`,
		refused(waiting(t, cfg).m))
}

func TestReadSnapshot_refuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                  "machine: the snapshot cannot be read: unexpected end of JSON input",
		`{}`:                 "it has the format 0, and this version of the library reads 1",
		`{"format":2}`:       "it has the format 2, and this version of the library reads 1",
		`{"format":1}`:       `the field "started" is missing`,
		`{"format":1,"x":1}`: `the field "x" is unknown`,
	} {
		_, err := machine.ReadSnapshot([]byte(text))
		require.ErrorContains(t, err, want, "%s", text)
	}
}
