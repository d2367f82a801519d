package explore_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// clerk completes a task with a tool that pays, and one that looks.
var clerk = completetask.New(completetask.Config{MaxModelCalls: 2})

func withTools(approval bool) explore.Options {
	return explore.Options{
		Name: "clerk", States: 1500,
		Tools: []tools.Definition{{Name: "look", ReadOnly: true}, {Name: "pay", NeedsApproval: approval}},
	}
}

// fewer leaves out all but some reactions, so that the exploration is exhausted soon.
func fewer(o explore.Options) explore.Options {
	o.Without = allBut("text", "call look", "call pay", "tool ok", "tool failed", "says yes", "says no", "failure unavailable", "stop", "crash")
	return o
}

// result answers one query.
func result(t *testing.T, factory func() strategy.Strategy, o explore.Options, q explore.Query) *explore.Result {
	t.Helper()
	o.Queries, o.UntilAnswered = []explore.Query{q}, true
	r, err := explore.Run(factory, o)
	require.NoError(t, err)
	require.Empty(t, r.Violations)
	t.Log(r)
	require.Len(t, r.Results, 1)
	return &r.Results[0]
}

func TestNever_aPaymentWithoutAnApproval(t *testing.T) {
	q := explore.Never(explore.CallsUnapproved("pay"))
	require.True(t, result(t, clerk, fewer(withTools(true)), q).Holds)

	found := result(t, clerk, fewer(withTools(false)), q)
	require.False(t, found.Holds)
	require.Equal(t, []string{"#1 call pay"}, found.Path)
	require.Equal(t, `never: no: after [#1 call pay]: it holds`, found.String())
}

// Every tool that is offered is called, not only those that the strategy lists first.
func TestNever_aPaymentWithTheLastOfManyTools(t *testing.T) {
	o := withTools(false)
	o.Tools = append([]tools.Definition{{Name: "find", ReadOnly: true}, {Name: "list", ReadOnly: true}}, o.Tools...)
	found := result(t, clerk, fewer(o), explore.Never(explore.CallsUnapproved("pay")))
	require.False(t, found.Holds)
	require.Equal(t, []string{"#1 call pay"}, found.Path)
}

func TestCanReach_aPayment(t *testing.T) {
	q := explore.CanReach(explore.CallsApproved("pay"))
	found := result(t, clerk, fewer(withTools(true)), q)
	require.True(t, found.Holds)
	require.Equal(t, []string{"#1 call pay", "#2/1/1 says yes"}, found.Path)

	found = result(t, clerk, fewer(withTools(false)), q)
	require.False(t, found.Holds, "nobody approves it")
	require.Equal(t, "can reach: no path was found", found.String())
}

func TestLeads(t *testing.T) {
	quiet := func(o explore.Options) explore.Options {
		without := fewer(o).Without
		o.Without = func(e *machine.Effect, name string) bool { return e == nil && name != "crash" || without(e, name) }
		return o
	}
	asks := explore.Asks(machine.WaitApproval, "pay")
	stops := withTools(true)
	stops.Without = allBut("text", "call look", "tool ok", "stop", "stop now")
	for name, c := range map[string]struct {
		o     explore.Options
		q     explore.Query
		holds bool
		path  []string
	}{
		"the run always ends": {quiet(withTools(true)), explore.Leads(explore.Calls("look"), explore.Ended), true, nil},
		"a question is answered, or the run fails": {
			quiet(withTools(true)), explore.Leads(asks, explore.Any(explore.Calls("pay"), explore.Ended)), true, nil,
		},
		"a question need not lead to a payment": {
			quiet(withTools(true)), explore.Leads(asks, explore.Calls("pay")), false,
			[]string{"#1 call pay", "#2/1/1 says no", "#3 text"},
		},
		"a run that is stopped ends": {
			stops, explore.Leads(explore.Calls("look"), explore.Done), false, []string{"#1 call look", "stop", "#2/1 tool ok"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := result(t, clerk, c.o, c.q)
			require.Equal(t, c.holds, found.Holds, found.String())
			require.Equal(t, c.path, found.Path, found.String())
			require.Positive(t, found.Times)
		})
	}
}

// A strategy without a cap lets a model call tools for ever.
func TestLeads_cycle(t *testing.T) {
	o := withTools(false)
	o.Repeats = -1
	o.Without = allBut("text", "call pay", "tool ok")
	found := result(t, newWorker(""), o, explore.Leads(explore.Calls("pay"), explore.Ended))
	require.False(t, found.Holds)
	require.Equal(t, "the last 2 reactions lead back to the same state, and so on for ever", found.Problem)
	require.Equal(t, []string{"#1 call pay", "#2/1 tool ok", "#3 call pay", "#4/1 tool ok"}, found.Path)
	require.Contains(t, found.Story, "walk clerk steps")

	require.True(t, result(t, clerk, o, explore.Leads(explore.Calls("pay"), explore.Ended)).Holds, "a cap ends it")
}

// Two results lead to the same state of the run, and after the second something is due: that the
// run was in this state before, with nothing due, does not matter.
func TestLeads_historyMatters(t *testing.T) {
	o := withTools(false)
	o.Without = allBut("text", "call look", "tool ok", "tool huge")
	huge := func(s *explore.State) bool {
		return slices.ContainsFunc(s.Events(), func(e machine.Event) bool {
			d, ok := e.Detail.(machine.ToolFinished)
			return ok && len(d.Output.Output) > 1000
		})
	}
	found := result(t, newWorker(""), o, explore.Leads(huge, explore.Failed))
	require.False(t, found.Holds)
	require.Equal(t, []string{"#1 call look", "#2/1 tool huge", "#3 text"}, found.Path)
}

// allBut leaves out all reactions but these.
func allBut(names ...string) func(*machine.Effect, string) bool {
	return func(_ *machine.Effect, name string) bool { return !slices.Contains(names, name) }
}

func TestRun_severalQueries(t *testing.T) {
	o := fewer(withTools(true))
	o.Queries = []explore.Query{
		explore.Never(explore.CallsUnapproved("pay")),
		explore.CanReach(explore.Done),
		explore.CanReach(explore.Failed),
		explore.CanReach(explore.Stopped),
		explore.CanReach(explore.InState("clerk", "concluding")),
		explore.CanReach(explore.InState("nobody", "concluding")),
		explore.Leads(explore.Asks(machine.WaitApproval, "pay"), explore.Ended),
		explore.Leads(explore.Calls("look"), explore.Calls("pay")),
	}
	r, err := explore.Run(clerk, o)
	require.NoError(t, err)
	var holds []bool
	for i := range r.Results {
		t.Log(&r.Results[i])
		holds = append(holds, r.Results[i].Holds)
	}
	require.Equal(t, []bool{true, true, true, true, true, false, true, false}, holds)
}

// A bound leaves a Leads undecided, and says so.
func TestLeads_undecided(t *testing.T) {
	o := fewer(withTools(true))
	o.Depth = 2
	found := result(t, clerk, o, explore.Leads(explore.Calls("look"), explore.Ended))
	require.True(t, found.Holds)
	require.Positive(t, found.Undecided)
	require.Contains(t, found.String(), "undecided")
}

// Options that mean nothing are refused, and not an exploration of nothing.
func TestRun_refusesOptions(t *testing.T) {
	for want, change := range map[string]func(*explore.Options){
		"Options.Odd is -1":                 func(o *explore.Options) { o.Odd = -1 },
		"Options.Depth is -2":               func(o *explore.Options) { o.Depth = -2 },
		"Options.Notes is -1":               func(o *explore.Options) { o.Notes = -1 },
		"Options.States is -1":              func(o *explore.Options) { o.States = -1 },
		"Options.Caps is -1":                func(o *explore.Options) { o.Caps = -1 },
		`Options.Name is "refund agent"`:    func(o *explore.Options) { o.Name = "refund agent" },
		`the name "subject" is that of the`: func(o *explore.Options) { o.Children = []string{"subject"} },
		`query 1 of Options.Queries, "never", has no predicate`: func(o *explore.Options) {
			o.Queries = []explore.Query{explore.Never(nil)}
		},
		`query 2 of Options.Queries, "leads", has no predicate`: func(o *explore.Options) {
			o.Queries = []explore.Query{explore.Never(explore.Stopped), explore.Leads(explore.Stopped, nil)}
		},
	} {
		o := school
		change(&o)
		_, err := explore.Run(newPupil(&twist{}), o)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, explore.Walk(newPupil(&twist{}), o, nil, nil), want)
	}
}

// Reactions of the world that cannot be told apart are refused, and not taken for one.
func TestRun_refusesReactions(t *testing.T) {
	for want, r := range map[string]explore.Reaction{
		`two reactions to a model are called "text"`:                     explore.Reply("text", llmclient.FinishStop),
		"a reaction to a model has no name":                              explore.Reply("", llmclient.FinishStop),
		`the reaction "again" to a model makes no record: Record is nil`: {Name: "again"},
	} {
		o := school
		o.World = func(*machine.Effect) []explore.Reaction { return []explore.Reaction{r} }
		_, err := explore.Run(newPupil(&twist{}), o)
		require.ErrorContains(t, err, "explore: Options.World: "+want)
		require.ErrorContains(t, explore.Walk(newPupil(&twist{}), o, []string{"text"}, nil), want)
	}
}

// A factory that is nil is no strategy that panics.
func TestRun_nilFactory(t *testing.T) {
	for _, caps := range []int{0, 2} {
		_, err := explore.Run(nil, explore.Options{Caps: caps})
		require.ErrorContains(t, err, `the factory of "subject" is nil`)
	}
	o := school
	o.Strategies = strategy.Set{"helper": nil}
	_, err := explore.Run(newPupil(&twist{}), o)
	require.ErrorContains(t, err, `the factory of "helper" is nil`)
}
