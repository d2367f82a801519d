package explore_test

import (
	"encoding/json"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

const (
	ready, asking, acting, waiting, over, lost strategy.State = "ready", "asking", "acting", "waiting", "over", "lost"
)

// lessons is the table of a pupil.
var lessons = &strategy.Table{
	Name:    "pupil",
	Initial: ready,
	States: []strategy.StateRule{
		{Name: ready},
		{Name: asking, Awaits: nextstep.KindGetChatCompletion},
		{Name: acting, Awaits: nextstep.KindExecuteTools},
		{Name: waiting, Awaits: nextstep.KindDelegate},
		{Name: over, Awaits: nextstep.KindComplete},
		{Name: lost, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: []strategy.State{ready}, On: "start", To: asking},
		{From: []strategy.State{asking}, On: "again", To: asking, Cap: "retries"},
		{From: []strategy.State{asking}, On: "called", To: acting, Cap: "rounds"},
		{From: []strategy.State{acting}, On: "acted", To: asking},
		{From: []strategy.State{asking}, On: "handed over", To: waiting, Cap: "children"},
		{From: []strategy.State{waiting}, On: "came back", To: asking},
		{From: []strategy.State{asking, acting, waiting}, On: "answered", To: over},
		{From: []strategy.State{asking, waiting}, On: "gave up", To: lost},
	},
}

// lessonCaps are the caps of a pupil.
var lessonCaps = strategy.Caps{"retries": 1, "rounds": 2, "children": 1}

// pupil is a sound strategy with every ability. It asks with the tools of the run, makes the calls,
// hands what looks like JSON over to a child, and asks once more after a failure. Its twist makes
// it break a law.
type pupil struct {
	fsm   *strategy.FSM
	twist *twist
	tools []tools.Definition
	memory
	kept any // what only twists use
}

// memory is what a pupil remembers.
type memory struct {
	History messages.History `json:"history"`
	Tries   int              `json:"tries,omitempty"` // failures in a row
	Heard   string           `json:"heard,omitempty"` // from its child
}

// twist replaces methods of a pupil; those that are nil are sound.
type twist struct {
	start    func(*pupil, delegation.Input) nextstep.NextStep
	reply    func(*pupil, llmclient.Response) nextstep.NextStep
	results  func(*pupil, []messages.ToolOutput) nextstep.NextStep
	child    func(*pupil, delegation.Output) nextstep.NextStep
	failure  func(*pupil, nextstep.Failure) nextstep.NextStep
	conclude func(*pupil) delegation.Output
	inherit  func(*pupil, delegation.Output)
	edit     func(*pupil, []messages.ToolCall)
	uses     func(*pupil, []tools.Definition)
	brings   func(*pupil) []tools.Tool
	turn     func(*pupil) nextstep.NextStep
	heeds    func(*pupil, []messages.ToolOutput) // before it looks whether it awaits them
	snapshot func(*pupil) (json.RawMessage, error)
	restore  func(*pupil, json.RawMessage) error
	factory  func(sound func() strategy.Strategy) func() strategy.Strategy
}

// newPupil returns a factory of pupils with that twist.
func newPupil(t *twist) func() strategy.Strategy {
	sound := func() strategy.Strategy { return &pupil{fsm: lessons.New(lessonCaps), twist: t} }
	if t.factory != nil {
		return t.factory(sound)
	}
	return sound
}

func (p *pupil) FSM() *strategy.FSM { return p.fsm }

func (p *pupil) UseTools(defs []tools.Definition) {
	p.tools = defs
	if p.twist.uses != nil {
		p.twist.uses(p, defs)
	}
}

func (p *pupil) Tools() []tools.Tool {
	if p.twist.brings != nil {
		return p.twist.brings(p)
	}
	return nil
}

func (p *pupil) Initialize(in delegation.Input) nextstep.NextStep {
	p.History, _ = in.Conversation("")
	p.History = p.History.Clip()
	if p.twist.start != nil {
		return p.twist.start(p, in)
	}
	return p.fsm.Then("start", p.request())
}

// request asks the model.
func (p *pupil) request() nextstep.GetChatCompletion {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: p.History.Clip(), Tools: p.tools}}
}

func (p *pupil) outOfTurn() nextstep.NextStep {
	if p.twist.turn != nil {
		return p.twist.turn(p)
	}
	return p.fsm.OutOfTurn()
}

// say adds a message to the conversation.
func (p *pupil) say(m messages.Message) { p.History = append(p.History, m) }

func (p *pupil) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if p.fsm.State() != asking {
		return p.outOfTurn()
	}
	if p.twist.reply != nil {
		return p.twist.reply(p, r)
	}
	return p.replied(r)
}

func (p *pupil) replied(r llmclient.Response) nextstep.NextStep {
	p.Tries = 0
	if !r.Message.Empty() {
		p.say(r.Message)
	}
	switch calls := r.Message.Calls(); {
	case len(calls) > 0 && p.fsm.Can("called"):
		return p.fsm.Then("called", nextstep.ExecuteTools{Calls: calls})
	case len(calls) > 0:
		return p.giveUp("too many calls")
	case r.Message.Text() == `{"answer":"yes"}` && p.fsm.Can("handed over"):
		return p.fsm.Then("handed over", nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "help"}})
	default:
		return p.fsm.Then("answered", p.done(r.Message.Text()))
	}
}

func (p *pupil) done(text string) nextstep.Complete {
	return nextstep.Complete{Output: delegation.Output{Result: new(text), Messages: p.History.Clip()}}
}

func (p *pupil) giveUp(why string) nextstep.NextStep {
	return p.fsm.Then("gave up", nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeFailed, Message: why}})
}

func (p *pupil) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if p.twist.heeds != nil {
		p.twist.heeds(p, results)
	}
	if p.fsm.State() != acting {
		return p.outOfTurn()
	}
	if p.twist.results != nil {
		return p.twist.results(p, results)
	}
	return p.acted(results)
}

func (p *pupil) acted(results []messages.ToolOutput) nextstep.NextStep {
	for _, r := range results {
		p.say(messages.Tool{ToolOutput: r})
	}
	return p.fsm.Then("acted", p.request())
}

func (p *pupil) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	if p.fsm.State() != waiting {
		return p.outOfTurn()
	}
	if p.twist.child != nil {
		return p.twist.child(p, out)
	}
	return p.helped(out)
}

func (p *pupil) helped(out delegation.Output) nextstep.NextStep {
	if out.Err != nil {
		return p.giveUp("the child failed")
	}
	p.Heard = out.Text()
	p.say(messages.UserText("A child says: " + p.Heard))
	return p.fsm.Then("came back", p.request())
}

func (p *pupil) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	if p.twist.failure != nil {
		return p.twist.failure(p, f)
	}
	return p.failed(f)
}

func (p *pupil) failed(f nextstep.Failure) nextstep.NextStep {
	p.Tries++
	if p.fsm.State() != asking || !p.fsm.Can("again") {
		return p.giveUp(f.Message)
	}
	return p.fsm.Then("again", p.request())
}

func (p *pupil) Conclude(string) delegation.Output {
	if p.twist.conclude != nil {
		return p.twist.conclude(p)
	}
	return delegation.Output{Result: new("so far " + p.Heard)}
}

func (p *pupil) Inherit(out delegation.Output) {
	p.Heard = out.Text()
	if p.twist.inherit != nil {
		p.twist.inherit(p, out)
	}
}

func (p *pupil) EditCalls(calls []messages.ToolCall) {
	if p.twist.edit != nil {
		p.twist.edit(p, calls)
		return
	}
	last := len(p.History) - 1
	p.History = append(p.History[:last:last], p.History[last].(messages.Assistant).WithCalls(calls))
}

func (p *pupil) Snapshot() (json.RawMessage, error) {
	if p.twist.snapshot != nil {
		return p.twist.snapshot(p)
	}
	return json.Marshal(p.memory)
}

func (p *pupil) Restore(snapshot json.RawMessage) error {
	if p.twist.restore != nil {
		return p.twist.restore(p, snapshot)
	}
	return json.Unmarshal(snapshot, &p.memory)
}
