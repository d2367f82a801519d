package explore_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/strategytest/explore"
)

// capped returns a factory of pupils with other caps.
func capped(caps strategy.Caps, t *twist) func(func() strategy.Strategy) func() strategy.Strategy {
	return func(func() strategy.Strategy) func() strategy.Strategy {
		return func() strategy.Strategy { return &pupil{fsm: lessons.New(caps), twist: t} }
	}
}

// stubborn has no table. It asks, or delegates, until something comes of it.
type stubborn struct {
	strategy.Defaults
	step nextstep.NextStep
}

func (s stubborn) Initialize(delegation.Input) nextstep.NextStep { return s.step }

func (s stubborn) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if s.step.Kind() != nextstep.KindGetChatCompletion {
		return s.Defaults.ProcessAPIResponse(r)
	}
	return nextstep.Complete{Output: delegation.Output{Result: new("done")}}
}

func (s stubborn) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	switch {
	case s.step.Kind() != nextstep.KindDelegate:
		return s.Defaults.ProcessDelegationResult(out)
	case out.Err != nil:
		return s.step
	default:
		return nextstep.Complete{Output: delegation.Output{Result: new("done")}}
	}
}

func (s stubborn) ProcessFailure(nextstep.Failure) nextstep.NextStep { return s.step }

// only returns a twist that makes another strategy of the pupil.
func only(st strategy.Strategy) twist {
	return twist{factory: func(func() strategy.Strategy) func() strategy.Strategy {
		return func() strategy.Strategy { return st }
	}}
}

// goneTo puts the machine of a pupil where no rule leads.
func (p *pupil) goneTo(s strategy.State, step nextstep.NextStep) nextstep.NextStep {
	at := p.fsm.Position()
	at.State = s
	if err := p.fsm.SetPosition(at); err != nil {
		panic(err)
	}
	return step
}

// leaves ends a frame, whatever its table says.
func leaves(*pupil) nextstep.NextStep {
	return nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeFailed, Message: "I do not know where I am"}}
}

var brokenTables = []broken{
	{name: "asks in a state that awaits results", law: explore.Awaits, twist: twist{results: func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		for _, o := range r {
			p.say(messages.Tool{ToolOutput: o})
		}
		return p.request()
	}, failure: func(p *pupil, _ nextstep.Failure) nextstep.NextStep { return leaves(p) }, turn: leaves}},
	{name: "calls in a state that awaits a reply", law: explore.Awaits, twist: twist{reply: func(p *pupil, r llmclient.Response) nextstep.NextStep {
		if calls := r.Message.Calls(); len(calls) > 0 {
			p.say(r.Message)
			return nextstep.ExecuteTools{Calls: calls}
		}
		return p.replied(r)
	}, turn: leaves}},
	{name: "delegates in a state that awaits a reply", law: explore.Awaits, twist: twist{start: func(p *pupil, _ delegation.Input) nextstep.NextStep {
		p.fsm.Then("start", p.request())
		return nextstep.Delegate{Strategy: "child"}
	}, turn: leaves}},
	{name: "completes in a state that awaits a reply", law: explore.Awaits, twist: always(func(p *pupil) nextstep.NextStep { return p.done("text") })},
	{name: "asks again without a move", law: explore.Moves, twist: reply(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		if len(p.History) > 2 {
			return p.replied(r)
		}
		p.say(messages.UserText("Are you sure?"))
		return p.request()
	})},
	{name: "begins its table anew", law: explore.Moves, twist: results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		step := p.acted(r)
		*p.fsm = *lessons.New(lessonCaps)
		p.fsm.Then("start", step)
		return step
	})},
	{name: "gives back what it took off a cap", law: explore.Moves, twist: twist{failure: func(p *pupil, f nextstep.Failure) nextstep.NextStep {
		if p.Tries++; p.Tries > 2 {
			return p.giveUp(f.Message)
		}
		at := p.fsm.Position()
		p.fsm.Then("again", p.request())
		_ = p.fsm.SetPosition(at)
		return p.request()
	}}},
	{name: "makes more rounds than its cap allows", law: explore.Moves, twist: twist{factory: capped(strategy.Caps{"retries": 1, "rounds": 0, "children": 1}, new(reply(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		if calls := r.Message.Calls(); len(calls) > 0 && !p.fsm.Can("called") {
			p.say(r.Message)
			return p.goneTo(acting, nextstep.ExecuteTools{Calls: calls})
		}
		return p.replied(r)
	})))}},
	{name: "goes where no rule leads", law: explore.Moves, twist: twist{results: func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		p.acted(r)
		return p.goneTo(lost, leaves(p))
	}}},
	{name: "raises a cap", law: explore.Moves, twist: twist{child: func(p *pupil, out delegation.Output) nextstep.NextStep {
		at := p.fsm.Position()
		at.Left["children"]++
		_ = p.fsm.SetPosition(at)
		return p.helped(out)
	}}},
	{name: "fires a trigger more often than its Bounds say", law: explore.Bounds, twist: saying(strategy.Bounds{
		Triggers: map[strategy.Trigger]int{"called": 1},
	})},
	{name: "makes more calls than its Bounds say", law: explore.Bounds, twist: saying(strategy.Bounds{Calls: map[strategy.State]int{acting: 1}})},
	{name: "offers a tool that its Bounds leave out", law: explore.Bounds, twist: saying(strategy.Bounds{Offers: []string{"look"}})},
	{name: "starts a child that its Bounds do not list", law: explore.Bounds, twist: saying(strategy.Bounds{Children: map[strategy.State][]strategy.Child{}})},
	{name: "has a child use tools that its Bounds leave out", law: explore.Bounds, twist: saying(lookingChild), world: runsQuietChild},
	{name: "starts agents that its Bounds do not list", law: explore.Bounds, twist: agents(func(s strategy.State, said children) { delete(said, s) }), world: runsChild},
	{name: "starts an agent more often than its Bounds list it", law: explore.Bounds, twist: agents(func(s strategy.State, said children) { said[s] = said[s][1:] }), world: runsChild},
	{name: "starts another agent than its Bounds list", law: explore.Bounds, twist: agents(func(s strategy.State, said children) { said[s][0].Strategy = "other" }), world: runsChild},
	{name: "gives an agent tools that its Bounds leave out", law: explore.Bounds, twist: agents(func(s strategy.State, said children) { said[s][1].Tools = []string{"pay"} }), world: runsChild},
	{name: "gives an agent more than its Bounds say", law: explore.Bounds, twist: agents(func(s strategy.State, said children) { said[s][1].Limits.ModelCalls = 1 }), world: runsChild},
	{name: "asks again after each failure", law: explore.Ends, twist: twist{
		factory: capped(strategy.Caps{"retries": strategy.Unbounded, "rounds": 2, "children": 1}, &twist{}),
	}},
	{name: "handles failures for ever, without a table", law: explore.Ends, twist: only(stubborn{step: nextstep.GetChatCompletion{
		Request: llmclient.Request{Messages: messages.History{messages.UserText("go")}},
	}})},
	{name: "delegates for ever to a child that fails", law: explore.Ends, twist: only(stubborn{step: nextstep.Delegate{Strategy: "child"}})},
	{name: "loses the error of its child", law: explore.Lost, twist: twist{child: func(p *pupil, out delegation.Output) nextstep.NextStep {
		if out.Err == nil {
			return p.helped(out)
		}
		return p.fsm.Then("answered", p.done(""))
	}}},
	{name: "makes a success of a failure", law: explore.Lost, twist: twist{failure: func(p *pupil, _ nextstep.Failure) nextstep.NextStep {
		return p.fsm.Then("answered", nextstep.Complete{})
	}}},
	{name: "makes a success of the failure of its last try", law: explore.Lost, twist: twist{failure: func(p *pupil, _ nextstep.Failure) nextstep.NextStep {
		if p.Tries++; p.fsm.Can("again") {
			return p.fsm.Then("again", p.request())
		}
		return p.fsm.Then("answered", p.done(p.Heard))
	}}},
}

// bounding is a pupil that says what bounds it.
type bounding struct {
	*pupil
	said strategy.Bounds
}

func (b bounding) Bounds() strategy.Bounds { return b.said }

// saying returns a twist of pupils that say what bounds them, wrongly.
func saying(said strategy.Bounds) twist {
	return twist{factory: func(sound func() strategy.Strategy) func() strategy.Strategy {
		return func() strategy.Strategy { return bounding{sound().(*pupil), said} }
	}}
}

// lookingChild are Bounds of a pupil whose child may look.
var lookingChild = strategy.Bounds{Delegates: []strategy.Child{{Strategy: "child", Tools: []string{"look"}}}}

// runsQuietChild has the child of pupils run. It is no pupil, and offers no tools.
func runsQuietChild(o *explore.Options) {
	o.Children = nil
	o.Strategies = strategy.Set{"child": completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, Tools: []string{}})}
}

// What a strategy does within its Bounds is not taken for more: a child has the tools that its
// parent has, and of two children of one strategy each is held to what the Bounds list for it,
// whichever comes first.
func TestBounds_sound(t *testing.T) {
	child := func(tools ...string) strategy.Child { return strategy.Child{Strategy: "child", Tools: tools} }
	delegates := func(list ...strategy.Child) twist { return saying(strategy.Bounds{Delegates: list}) }
	looks := func(o *explore.Options) {
		runsChild(o)
		o.Strategies["pupil"] = newPupil(new(saying(lookingChild)))
	}
	narrow := twist{factory: func(func() strategy.Strategy) func() strategy.Strategy {
		return workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{{Strategy: "pupil", Tools: []string{"look"}}}})
	}}
	for name, test := range map[string]broken{
		"all tools are listed":          {twist: delegates(child("look", "pay")), world: runsQuietChild},
		"the frame has no more":         {twist: narrow, world: looks},
		"the second of two is meant":    {twist: delegates(child("look"), child()), world: runsChild},
		"agents are listed otherwise":   {twist: agents(func(s strategy.State, said children) { slices.Reverse(said[s]) }), world: runsChild},
		"all agents are listed as wide": {twist: agents(func(s strategy.State, said children) { said[s][0] = said[s][1] }), world: runsChild},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, explored(t, &test.twist, test.options()))
		})
	}
}

// children are the Children of Bounds.
type children = map[strategy.State][]strategy.Child

// composed is a composition that says what bounds it.
type composed struct {
	composition
	said strategy.Bounds
}

// composition has the abilities of a composition.
type composition interface {
	strategy.Strategy
	strategy.Bounder
	strategy.FailureHandler
	strategy.Namer
	strategy.Snapshotter
	strategy.Tabler
	strategy.ToolProvider
}

func (c composed) Bounds() strategy.Bounds { return c.said }

// agents returns a twist that makes a composition of the pupil: of two children at the same time,
// with a change of what it says of them.
func agents(change func(strategy.State, children)) twist {
	of := workflow.Parallel(workflow.ParallelConfig{Parts: []workflow.Part{
		{Name: "a", Strategy: "child", Tools: []string{}, Limits: delegation.Limits{ModelCalls: 2}, Retries: 1},
		{Name: "b", Strategy: "child", Limits: delegation.Limits{ModelCalls: 7}, Retries: 1},
	}})
	return twist{factory: func(func() strategy.Strategy) func() strategy.Strategy {
		return func() strategy.Strategy {
			c := composed{composition: of().(composition)}
			c.said = c.composition.Bounds()
			for state := range c.said.Children {
				change(state, c.said.Children)
			}
			return c
		}
	}}
}
