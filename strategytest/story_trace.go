package strategytest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// trace writes a run as text, with its agents.
type trace struct {
	root   *page
	deltas bool
	brief  bool // without states, and without steps except the answers to those that ran agents
	*places

	mu    sync.Mutex
	pages map[string]*page               // by the name of the agent
	open  map[step]*taken                // the steps that were not written yet
	left  map[step]*taken                // the steps that had no answer when the last process ended
	asked map[string][]messages.ToolCall // those of the last reply in each frame

	requests map[string]*llmclient.Request // the last one of each frame
	departed []string                      // requests that break the law of prefixes
}

func newTrace(at *places) *trace {
	root := newPage("")
	return &trace{places: at, root: root, pages: map[string]*page{"": root}, open: map[step]*taken{}, asked: map[string][]messages.ToolCall{}, requests: map[string]*llmclient.Request{}}
}

// page is the text of the root, or of an agent.
type page struct {
	lines
	name     string                      // the name of an agent, followed by a blank; "" for the root
	requests map[string]messages.History // the last request of each frame
}

func newPage(agent string) *page {
	if agent != "" {
		agent += " "
	}
	return &page{name: agent, requests: map[string]messages.History{}}
}

// step is a step of a frame, by its number in the run.
type step struct {
	frame string
	seq   int
}

// taken is a step that was not written yet. An effect has one answer. The calls of a batch, which
// begin and end in any order, are collected. The agents of a step come between its calls and their
// results.
type taken struct {
	answer lines
	calls  []*called
	agents []*page // opened by the calls, in order
}

// called is a call of a batch.
type called struct {
	id, text, result string // the text is "" if the call never began
	number           int    // in the batch; 0 if unknown
}

// step returns an open step. tr.mu must be held.
func (tr *trace) step(frame string, seq int) *taken {
	at := step{frame, seq}
	if tr.open[at] == nil {
		tr.open[at] = new(taken)
	}
	return tr.open[at]
}

// call returns a call of the step.
func (s *taken) call(id string) *called {
	i := slices.IndexFunc(s.calls, func(c *called) bool { return c.id == id })
	if i < 0 {
		i = len(s.calls)
		s.calls = append(s.calls, &called{id: id})
	}
	return s.calls[i]
}

// event writes an event, unless the steps show the same. begins says that the event begins an
// agent; then the text names the step.
func (tr *trace) event(e machine.Event, begins bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if e.Kind == machine.EventFrameEntered { // a successor has the frame of another strategy
		delete(tr.requests, e.Frame)
	}
	at := tr.in(e.Frame)
	if begins {
		tr.pages[at.agent] = newPage(at.agent)
		by := tr.step(parent(e.Frame), e.Seq)
		by.agents = append(by.agents, tr.pages[at.agent])
	}
	p, depth := tr.pages[at.agent], at.depth()
	switch detail := e.Detail.(type) {
	case machine.RunResumed:
		tr.resumed(detail.Open)
	case machine.FrameEntered:
		about := ""
		if detail.Messages > 0 {
			about = fmt.Sprintf(" after %d messages", detail.Messages)
		}
		p.line(depth, "%s%s %s%s: %s", p.name, at.frame, detail.Strategy, about, detail.Goal)
	case machine.StateChanged:
		if !tr.brief && detail.From != detail.To {
			p.line(depth, "%s -> %s", detail.From, detail.To)
		}
	case machine.Compacted:
		if !tr.brief {
			p.line(depth, "%s", compacted(detail))
		}
	case machine.Noting:
		tr.noted(p, depth, at.frame, e.Kind, &detail)
	case machine.RetryWaiting:
		p.line(depth, "   %s: %s", detail.Kind, detail.Error)
	case machine.ToolStarted:
		tr.step(e.Frame, e.Seq).call(detail.Call.ID).text = callText(detail.Call)
	case machine.ToolFinished:
		if detail.Output.Reason != machine.ReasonNotOffered { // a call that is not a step of the run
			tr.step(e.Frame, e.Seq).call(detail.Output.CallID).result = outputText(detail.Output)
		}
	case machine.StepTaken:
		tr.answered(p, depth, step{e.Frame, e.Seq})
	case machine.FrameLeft:
		tr.answered(p, depth, step{e.Frame, e.Seq}) // a step that was cut off has no answer
		p.left(depth, at.frame, &detail)
	case machine.RunFinished:
		tr.waiting()
		tr.finished(detail)
	case nil:
		if tr.deltas {
			p.line(depth, "   %s %q", e.Kind, e.Text)
		}
	default: // the steps show it
	}
}

// left writes how a frame was left.
func (p *page) left(depth int, frame string, how *machine.FrameLeft) {
	if u := how.Usage; u != (messages.Usage{}) && p.name+frame != "0" {
		p.line(depth, "%s%s used %d input, %d output", p.name, frame, u.Input, u.Output)
	}
	if how.Handoff != "" {
		p.line(depth, "%s%s hands off to %s", p.name, frame, how.Handoff)
		return
	}
	p.line(depth, "%s%s ends%s", p.name, frame, ending(how.Result, how.Err))
}

// waiting writes the steps that wait for an answer, those of agents before the steps that called
// them. It remembers their calls without a result, which may continue in another process.
func (tr *trace) waiting() {
	left := map[step]*taken{}
	for _, at := range slices.SortedFunc(maps.Keys(tr.open), func(a, b step) int { return len(b.frame) - len(a.frame) }) {
		calls := slices.DeleteFunc(slices.Clone(tr.open[at].calls), func(c *called) bool { return c.result != "" })
		p := tr.in(at.frame)
		tr.answered(tr.pages[p.agent], p.depth(), at)
		left[at] = &taken{calls: calls}
	}
	tr.left = left
}

func (tr *trace) finished(d machine.RunFinished) {
	tr.root.line(0, "%s: %d messages", d.Status, len(d.Output.Messages))
	if u := d.Output.Usage; u != (messages.Usage{}) {
		tr.root.line(0, "usage: %d input, %d output", u.Input, u.Output)
	}
	for i := range d.Waits {
		tr.root.line(0, "%s of %s: %s", d.Waits[i].Kind, tr.nameOf(&d.Waits[i]), d.Waits[i].Text)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Output.Metadata)) {
		if name != delegation.MetadataRun { // the limits are the test's, and much of it is the same everywhere
			tr.root.line(0, "%s: %s", name, d.Output.Metadata[name])
		}
	}
	if d.Output.Data != nil {
		tr.root.line(0, "data: %s", d.Output.Data)
	}
}

// answered writes a batch, or the answer to an effect.
func (tr *trace) answered(p *page, depth int, at step) {
	s := tr.open[at]
	if s == nil {
		return
	}
	delete(tr.open, at)
	begun := slices.ContainsFunc(s.calls, func(c *called) bool { return c.text != "" })
	slices.SortStableFunc(s.calls, func(a, b *called) int { return tr.order(at.frame, a) - tr.order(at.frame, b) })
	if begun && !tr.brief {
		p.line(depth, "#%d execute_tools", tr.at(at.frame, at.seq).number)
		for _, c := range s.calls {
			p.line(depth, "   %s", c.text)
		}
	}
	for _, agent := range s.agents {
		p.add(depth+1, &agent.lines)
	}
	if tr.brief && len(s.agents) == 0 {
		return
	}
	p.add(0, &s.answer)
	for _, c := range s.calls {
		if begun && c.result != "" {
			p.line(depth, "   => %s", c.result)
		}
	}
}

// order returns the position of a call in its batch: that in the reply with the calls, or that of
// its effect.
func (tr *trace) order(frame string, c *called) int {
	if i := slices.IndexFunc(tr.asked[frame], func(asked messages.ToolCall) bool { return asked.ID == c.id }); i >= 0 {
		return i + 1
	}
	return c.number
}

// around is a middleware that writes each step that is an effect, and records its answer.
func (tr *trace) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		at := tr.at(e.Frame, e.ID.Seq)
		tr.mu.Lock()
		tr.compare(&e)
		if e.Kind != machine.EffectTool && !tr.brief {
			tr.pages[at.agent].ask(at, &e)
		}
		tr.mu.Unlock()
		answer, err := next(ctx, e)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		s := tr.step(e.Frame, e.ID.Seq)
		if e.Kind != machine.EffectTool {
			s.answered(at.depth(), answer, err)
		} else if s.call(e.Call.ID).number = e.ID.Index; err != nil {
			s.call(e.Call.ID).result = err.Error()
		}
		if reply, ok := answer.(nextstep.APIResponse); ok {
			tr.asked[e.Frame] = reply.Response.Message.Calls()
		}
		return answer, err
	}
}

// compare holds a request to the law of nextstep.GetChatCompletion: it begins with the last one of
// its frame, or says in Anew why it does not.
func (tr *trace) compare(e *machine.Effect) {
	ask, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return
	}
	if last := tr.requests[e.Frame]; last != nil && ask.Anew == nil {
		if why := ask.Request.Departure(last); why != "" {
			tr.departed = append(tr.departed, fmt.Sprintf("request #%d of frame %s does not begin with the last one, and its Anew is nil: %s", e.ID.Seq, e.Frame, why))
		}
	}
	tr.requests[e.Frame] = &ask.Request
}

// ask writes what a step requests.
func (p *page) ask(at place, e *machine.Effect) {
	if step, ok := e.Step.(nextstep.GetChatCompletion); ok {
		p.request(at, step.Request)
		return
	}
	p.line(at.depth(), "#%d %s", at.number, e.Step.Kind())
}

// request writes a request: the offered tools, and the messages that the frame's last request did
// not have.
func (p *page) request(at place, req llmclient.Request) {
	depth := at.depth()
	var about []string
	if req.Model != "" {
		about = append(about, "model "+req.Model)
	}
	if len(req.Tools) > 0 {
		names := make([]string, len(req.Tools))
		for i, d := range req.Tools {
			names[i] = d.Name
		}
		about = append(about, "tools "+strings.Join(names, " "))
	}
	if req.ToolChoice.Mode != "" {
		about = append(about, strings.TrimSpace("choice "+string(req.ToolChoice.Mode)+" "+req.ToolChoice.Name))
	}
	if req.Schema != nil {
		about = append(about, "schema "+req.Schema.Name)
	}
	p.line(depth, "#%d get_chat_completion %s", at.number, strings.Join(about, ", "))
	last := p.requests[at.frame]
	same := 0
	for same < len(last) && same < len(req.Messages) && reflect.DeepEqual(last[same], req.Messages[same]) {
		same++
	}
	if same > 0 {
		p.line(depth, "   (%d messages as before)", same)
	}
	for _, m := range req.Messages[same:] {
		p.line(depth, "   %s: %s", m.Role(), messageText(m))
	}
	p.requests[at.frame] = req.Messages
}

// answered writes the answer to a step.
func (s *taken) answered(depth int, a nextstep.Answer, err error) {
	l := &s.answer
	if err != nil {
		l.line(depth, "   => %v", err)
		return
	}
	switch a := a.(type) {
	case nextstep.APIResponse:
		finish := ""
		switch a.Response.Finish {
		case llmclient.FinishStop, llmclient.FinishToolCalls:
		default:
			finish = fmt.Sprintf(" (finish %q)", a.Response.Finish)
		}
		l.line(depth, "   => %s%s", messageText(a.Response.Message), finish)
	default:
		data, err := json.Marshal(a)
		l.line(depth, "   => %s %v", data, err)
	}
}
