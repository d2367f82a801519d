package strategytest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// trace writes a run down as text, and the runs of its agents.
type trace struct {
	root   page
	deltas bool
	brief  bool // without states, and without steps but for the answers to those that ran agents

	mu     sync.Mutex
	agents map[string]*page // by run
}

func newTrace() *trace {
	return &trace{root: page{requests: map[string]messages.History{}}, agents: map[string]*page{}}
}

// page is what is written of one run.
type page struct {
	lines
	name     string                      // of an agent, with a blank behind it; "" for the root
	requests map[string]messages.History // the last one of each frame
	steps    map[int]*taken              // of an agent: those whose place in the text is not reached
}

// taken is a step of an agent. It is written down when it is performed, on another goroutine than
// the events around it.
type taken struct {
	ask, answer lines
	calls       []messages.ToolCall
}

// lines is text that is written line by line.
type lines struct{ text strings.Builder }

// line writes a line, indented by depth. A text of several lines goes on further in; blank lines
// are left out.
func (l *lines) line(depth int, format string, args ...any) {
	indent := strings.Repeat("  ", depth)
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			l.text.WriteString(indent + line + "\n")
			indent = strings.Repeat("  ", depth) + "    "
		}
	}
}

// add writes what was written elsewhere, indented by depth.
func (l *lines) add(depth int, other *lines) {
	for line := range strings.Lines(other.text.String()) {
		l.text.WriteString(strings.Repeat("  ", depth) + line)
	}
}

// depthOf is how deep a frame stands in its run.
func depthOf(frame string) int { return strings.Count(frame, ".") }

// page returns the page of a run. tr.mu must be held.
func (tr *trace) page(run string) *page {
	if nameOf(run) == "" {
		return &tr.root
	}
	if tr.agents[run] == nil {
		tr.agents[run] = &page{name: nameOf(run) + " ", requests: map[string]messages.History{}, steps: map[int]*taken{}}
	}
	return tr.agents[run]
}

// event writes down an event, where it says what the steps do not.
func (tr *trace) event(e orchestrator.Event) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	p, depth := tr.page(e.Run), depthOf(e.Frame)
	switch detail := e.Detail.(type) {
	case orchestrator.FrameEntered:
		about := ""
		if detail.Messages > 0 {
			about = fmt.Sprintf(" after %d messages", detail.Messages)
		}
		p.line(depth, "%s%s %s%s: %s", p.name, e.Frame, detail.Strategy, about, detail.Goal)
	case orchestrator.StateChanged:
		if !tr.brief {
			p.line(depth, "%s -> %s", detail.From, detail.To)
		}
	case orchestrator.RetryWaiting:
		p.line(depth, "   %s: %s", detail.Kind, detail.Error)
	case orchestrator.StepTaken:
		tr.place(p, e)
	case orchestrator.FrameLeft:
		tr.place(p, e) // a step that was cut off is not taken
		if u := detail.Usage; u != (messages.Usage{}) && p.name+e.Frame != "0" {
			p.line(depth, "%s%s used %d input, %d output", p.name, e.Frame, u.Input, u.Output)
		}
		p.line(depth, "%s%s ends%s", p.name, e.Frame, ending(detail.Result, detail.Err))
	case orchestrator.RunFinished:
		tr.finished(detail)
	case nil:
		if tr.deltas {
			p.line(depth, "   %s %q", e.Kind, e.Text)
		}
	default: // the steps say it
	}
}

// place writes down the steps of an agent that an event follows.
func (tr *trace) place(p *page, e orchestrator.Event) {
	step := p.steps[e.Seq]
	if step == nil {
		return
	}
	delete(p.steps, e.Seq)
	p.add(0, &step.ask)
	tr.addAnswer(p, e.Run, e.Seq, depthOf(e.Frame), step)
}

// addAnswer writes down the answer to a step, and before it what its agents did, in the order of
// its calls and of the goals of each.
func (tr *trace) addAnswer(p *page, run string, seq, depth int, step *taken) {
	agents := 0
	for _, c := range step.calls {
		call := fmt.Sprintf("%s/%d/%s", run, seq, c.ID)
		var goals []string
		for id := range tr.agents {
			if goal, ok := strings.CutPrefix(id, call); ok && strings.Count(goal, "/") < 2 {
				goals = append(goals, goal)
			}
		}
		slices.SortFunc(goals, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
		for _, goal := range goals {
			p.add(depth+1, &tr.agents[call+goal].lines)
			agents++
		}
	}
	if !tr.brief || agents > 0 {
		p.add(0, &step.answer)
	}
}

func (tr *trace) finished(d orchestrator.RunFinished) {
	tr.root.line(0, "%s: %d messages", d.Status, len(d.Output.Messages))
	if u := d.Output.Usage; u != (messages.Usage{}) {
		tr.root.line(0, "usage: %d input, %d output", u.Input, u.Output)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Output.Metadata)) {
		tr.root.line(0, "%s: %s", name, d.Output.Metadata[name])
	}
	if d.Output.Data != nil {
		tr.root.line(0, "data: %s", d.Output.Data)
	}
}

func ending[E error](result *string, err E) string {
	text := ""
	if result != nil {
		text = fmt.Sprintf(" with %q", *result)
	}
	if !reflect.ValueOf(err).IsNil() {
		text += fmt.Sprintf(" with the error: %v", err)
	}
	if text == "" {
		return " without a result"
	}
	return text
}

// around is a middleware that writes down each step and its answer.
func (tr *trace) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, call orchestrator.Call) (nextstep.Answer, error) {
		var step taken
		depth := depthOf(call.Frame)
		tr.mu.Lock()
		p := tr.page(call.Run)
		if s, ok := call.Step.(nextstep.ExecuteTools); ok {
			step.calls = s.Calls
		}
		if !tr.brief {
			p.ask(&step.ask, depth, call)
		}
		if p.name == "" {
			p.add(0, &step.ask)
		} else {
			p.steps[call.Seq] = &step
		}
		tr.mu.Unlock()
		answer, err := next(ctx, call)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		step.answered(depth, answer, err)
		if p.name == "" {
			tr.addAnswer(p, call.Run, call.Seq, depth, &step)
		}
		return answer, err
	}
}

// ask writes down what a step asks for.
func (p *page) ask(l *lines, depth int, call orchestrator.Call) {
	switch step := call.Step.(type) {
	case nextstep.GetChatCompletion:
		p.request(l, depth, call, step.Request)
	case nextstep.ExecuteTools:
		l.line(depth, "#%d execute_tools", call.Seq)
		for _, c := range step.Calls {
			l.line(depth, "   %s", callText(c))
		}
	default:
		l.line(depth, "#%d %s", call.Seq, step.Kind())
	}
}

// request writes down a request: what is offered, and those messages that the frame's last request
// did not have.
func (p *page) request(l *lines, depth int, call orchestrator.Call, req llmclient.Request) {
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
	l.line(depth, "#%d get_chat_completion %s", call.Seq, strings.Join(about, ", "))
	last := p.requests[call.Frame]
	same := 0
	for same < len(last) && same < len(req.Messages) && reflect.DeepEqual(last[same], req.Messages[same]) {
		same++
	}
	if same > 0 {
		l.line(depth, "   (%d messages as before)", same)
	}
	for _, m := range req.Messages[same:] {
		l.line(depth, "   %s: %s", m.Role(), messageText(m))
	}
	p.requests[call.Frame] = req.Messages
}

// answered writes down the answer to a step.
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
	case nextstep.ToolResults:
		for _, r := range a.Results {
			l.line(depth, "   => %s", outputText(r))
		}
	default:
		data, err := json.Marshal(a)
		l.line(depth, "   => %s %v", data, err)
	}
}

func messageText(m messages.Message) string {
	switch m := m.(type) {
	case messages.System:
		return m.Text
	case messages.User:
		return m.Text()
	case messages.Tool:
		return outputText(m.ToolOutput)
	case messages.Assistant:
		var parts []string
		for _, c := range m.Content {
			switch c := c.(type) {
			case messages.Text:
				parts = append(parts, c.Text)
			case messages.Thought:
				parts = append(parts, "("+c.Text+")")
			case messages.ToolCall:
				parts = append(parts, callText(c))
			}
		}
		if len(parts) == 0 {
			return "nothing"
		}
		return strings.Join(parts, " | ")
	default:
		return fmt.Sprintf("a %T", m)
	}
}

func callText(c messages.ToolCall) string { return fmt.Sprintf("%s %s %s", c.ID, c.Name, c.Arguments) }

func outputText(o messages.ToolOutput) string {
	status := string(o.Status)
	if o.Reason != "" {
		status += "/" + o.Reason
	}
	return fmt.Sprintf("%s %s: %s", o.CallID, status, o.Output)
}
