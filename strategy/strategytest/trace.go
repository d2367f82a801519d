package strategytest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// trace writes a run down as text.
type trace struct {
	text     strings.Builder
	deltas   bool
	requests map[string]messages.History // the last one of each frame
}

// line writes a line, indented by depth. A text of several lines goes on further in; blank lines are left out.
func (tr *trace) line(depth int, format string, args ...any) {
	indent := strings.Repeat("  ", depth)
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			tr.text.WriteString(indent + line + "\n")
			indent = strings.Repeat("  ", depth) + "    "
		}
	}
}

// elapsed matches times in metadata, which differ from run to run.
var elapsed = regexp.MustCompile(`"elapsed":\d+`)

// event writes down an event, where it says what the steps do not.
func (tr *trace) event(e orchestrator.Event) {
	depth := e.Depth - 1
	switch detail := e.Detail.(type) {
	case orchestrator.FrameEntered:
		about := ""
		if detail.Messages > 0 {
			about = fmt.Sprintf(" after %d messages", detail.Messages)
		}
		tr.line(depth, "%s %s%s: %s", e.Frame, detail.Strategy, about, detail.Goal)
	case orchestrator.StateChanged:
		tr.line(depth, "%s -> %s", detail.From, detail.To)
	case orchestrator.RetryWaiting:
		tr.line(depth, "   %s: %s", detail.Kind, detail.Error)
	case orchestrator.FrameLeft:
		tr.line(depth, "%s ends%s", e.Frame, ending(detail.Result, detail.Err))
	case orchestrator.RunFinished:
		tr.finished(detail)
	case nil:
		if tr.deltas {
			tr.line(depth, "   %s %q", e.Kind, e.Text)
		}
	default: // the steps say it
	}
}

func (tr *trace) finished(d orchestrator.RunFinished) {
	tr.line(0, "%s: %d messages", d.Status, len(d.Output.Messages))
	if u := d.Output.Usage; u != (messages.Usage{}) {
		tr.line(0, "usage: %d input, %d output", u.Input, u.Output)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Output.Metadata)) {
		tr.line(0, "%s: %s", name, elapsed.ReplaceAll(d.Output.Metadata[name], []byte(`"elapsed":0`)))
	}
	if d.Output.Data != nil {
		tr.line(0, "data: %s", d.Output.Data)
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
		depth := call.Depth - 1
		switch step := call.Step.(type) {
		case nextstep.GetChatCompletion:
			tr.ask(depth, call, step.Request)
		case nextstep.ExecuteTools:
			tr.line(depth, "#%d execute_tools", call.Seq)
			for _, c := range step.Calls {
				tr.line(depth, "   %s", callText(c))
			}
		default:
			tr.line(depth, "#%d %s", call.Seq, step.Kind())
		}
		answer, err := next(ctx, call)
		if err != nil {
			tr.line(depth, "   => %v", err)
			return answer, err
		}
		tr.answer(depth, answer)
		return answer, nil
	}
}

// ask writes down a request: what is offered, and those messages that the frame's last request did not have.
func (tr *trace) ask(depth int, call orchestrator.Call, req llmclient.Request) {
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
	tr.line(depth, "#%d get_chat_completion %s", call.Seq, strings.Join(about, ", "))
	last := tr.requests[call.Frame]
	same := 0
	for same < len(last) && same < len(req.Messages) && reflect.DeepEqual(last[same], req.Messages[same]) {
		same++
	}
	if same > 0 {
		tr.line(depth, "   (%d messages as before)", same)
	}
	for _, m := range req.Messages[same:] {
		tr.line(depth, "   %s: %s", m.Role(), messageText(m))
	}
	if tr.requests == nil {
		tr.requests = map[string]messages.History{}
	}
	tr.requests[call.Frame] = req.Messages
}

func (tr *trace) answer(depth int, a nextstep.Answer) {
	switch a := a.(type) {
	case nextstep.APIResponse:
		finish := ""
		switch a.Response.Finish {
		case llmclient.FinishStop, llmclient.FinishToolCalls:
		default:
			finish = fmt.Sprintf(" (finish %q)", a.Response.Finish)
		}
		tr.line(depth, "   => %s%s", messageText(a.Response.Message), finish)
	case nextstep.ToolResults:
		for _, r := range a.Results {
			tr.line(depth, "   => %s", outputText(r))
		}
	default:
		data, err := json.Marshal(a)
		tr.line(depth, "   => %s %v", data, err)
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
