package orchestrator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// frame is one strategy at work: its place in the tree, what it may use, and what it was told and
// asked so far.
type frame struct {
	name     string // position in the delegation tree
	strategy string // its name in the Set
	st       strategy.Strategy
	stater   strategy.Stater // st, if it is one
	state    strategy.State  // as last told

	input    delegation.Input
	request  messages.History   // of the last request; nil before the first
	answers  []nextstep.Answer  // since then
	laws     messages.Validator // of its requests
	allowed  []tools.Definition // of the run's tools
	offered  []tools.Definition // in its last request
	own      []tools.Tool       // brought by the strategy
	ownNames []string
	calls    []messages.ToolCall // of the pending ExecuteTools, refused ones included
	refused  []messages.ToolOutput
	limits   delegation.Limits
	used     tally
	children int
	digester *digester // of its steps; nil before the first that is digested
	context  Context   // what it was handed of its parent's conversation

	room [2]nextstep.Answer // of answers: a round has two
}

// messages returns the conversation so far: the last request and what was answered since. What was
// left open in it is for the caller to repair.
func (f *frame) messages() messages.History {
	h := f.request
	if h == nil {
		h = f.input.Messages
		if f.input.Goal != "" {
			h = append(h.Clip(), messages.UserText(f.input.Goal))
		}
	}
	h = h.Clip()
	for _, a := range f.answers {
		h = append(h, said(a)...)
	}
	return h
}

// length is the length of the conversation so far, at a cost that does not depend on it.
func (f *frame) length() int {
	n := len(f.request)
	for _, a := range f.answers {
		n += len(said(a))
	}
	return n
}

// said returns the messages that an answer adds to a conversation.
func said(a nextstep.Answer) []messages.Message {
	switch a := a.(type) {
	case nextstep.APIResponse:
		return []messages.Message{a.Response.Message}
	case nextstep.ToolResults:
		return toolMessages(a.Results)
	case nextstep.Failure:
		return partialMessage(a.Partial)
	case nextstep.Stop:
		return append(partialMessage(a.Partial), toolMessages(a.Results)...)
	default: // a child's output stays the child's
		return nil
	}
}

// holdsUntrusted reports whether there is text from outside in a conversation.
func holdsUntrusted(h messages.History) bool {
	return slices.ContainsFunc(h, func(m messages.Message) bool {
		tool, ok := m.(messages.Tool)
		return ok && tool.Untrusted
	})
}

func toolMessages(outputs []messages.ToolOutput) []messages.Message {
	msgs := make([]messages.Message, len(outputs))
	for i, o := range outputs {
		msgs[i] = messages.Tool{ToolOutput: o}
	}
	return msgs
}

func partialMessage(a messages.Assistant) []messages.Message {
	if a.Empty() {
		return nil
	}
	return []messages.Message{a}
}

// offers reports whether the frame may execute a tool of that name: one that its last request
// offered and that its allow-list holds, or one that its strategy brought.
func (f *frame) offers(name string) bool {
	if slices.Contains(f.ownNames, name) {
		return true
	}
	return names(f.offered, name) && names(f.allowed, name)
}

func names(defs []tools.Definition, name string) bool {
	for i := range defs {
		if defs[i].Name == name {
			return true
		}
	}
	return false
}

// reasonNotOffered is the reason of a result whose call its frame may not make.
const reasonNotOffered = "not_offered"

// admit keeps the calls that the frame may execute and answers the others. In the usual case that
// all are allowed, the slice is the one given.
func (f *frame) admit(calls []messages.ToolCall) []messages.ToolCall {
	f.calls, f.refused = calls, nil
	first := slices.IndexFunc(calls, func(c messages.ToolCall) bool { return !f.offers(c.Name) })
	if first < 0 {
		return calls
	}
	admitted := slices.Clone(calls[:first])
	for _, c := range calls[first:] {
		if f.offers(c.Name) {
			admitted = append(admitted, c)
			continue
		}
		f.refused = append(f.refused, messages.ToolOutput{
			CallID:   c.ID,
			ToolName: c.Name,
			Status:   messages.StatusFailed,
			Reason:   reasonNotOffered,
			Output:   fmt.Sprintf("there is no tool %q here; %s", c.Name, f.offering()),
		})
	}
	return admitted
}

// offering lists what may be called, for the model.
func (f *frame) offering() string {
	var offered []string
	for _, d := range f.offered {
		if f.offers(d.Name) {
			offered = append(offered, d.Name)
		}
	}
	if len(offered) == 0 {
		return "no tools can be called"
	}
	return "the tools are: " + strings.Join(offered, ", ")
}

// merge puts the answers of refused calls among the results of the admitted ones, in call order.
func (f *frame) merge(results []messages.ToolOutput) []messages.ToolOutput {
	if len(f.refused) == 0 {
		return results
	}
	all := make([]messages.ToolOutput, 0, len(f.calls))
	refused := f.refused
	for _, c := range f.calls {
		if len(refused) > 0 && refused[0].CallID == c.ID {
			all, refused = append(all, refused[0]), refused[1:]
			continue
		}
		if len(results) > 0 {
			all, results = append(all, results[0]), results[1:]
		}
	}
	return all
}

// abandon answers the calls of a batch that was never started, and returns the answers.
func (f *frame) abandon(reason string) []messages.ToolOutput {
	if len(f.calls) == 0 {
		return nil
	}
	results := make([]messages.ToolOutput, 0, len(f.calls))
	for _, c := range f.calls {
		results = append(results, messages.ToolOutput{
			CallID:   c.ID,
			ToolName: c.Name,
			Status:   messages.StatusFailed,
			Reason:   "not_started",
			Output:   "the call was not started: " + reason,
		})
	}
	f.answers = append(f.answers, nextstep.Stop{Results: results}) // the strategy is not told
	f.calls, f.refused = nil, nil
	return results
}

// withStop adds what a stop cut off to the messages that a strategy gives itself; it was not told
// of that.
func (f *frame) withStop(out delegation.Output) delegation.Output {
	if out.Messages == nil || len(f.answers) == 0 {
		return out
	}
	if stop, ok := f.answers[len(f.answers)-1].(nextstep.Stop); ok {
		out.Messages = append(out.Messages.Clip(), said(stop)...)
	}
	return out
}

// output completes what a strategy left with what only the Machine knows.
func (f *frame) output(out delegation.Output) delegation.Output {
	if len(out.Data) > 0 && !json.Valid(out.Data) {
		out.Data = nil
		if out.Err == nil {
			out.Err = &delegation.Error{Code: delegation.CodeInvalid, Message: "orchestrator: the data of the output is not JSON"}
		}
	}
	for name, value := range out.Metadata {
		if json.Valid(value) {
			continue
		}
		out.Metadata = maps.Clone(out.Metadata)
		maps.DeleteFunc(out.Metadata, func(_ string, v json.RawMessage) bool { return !json.Valid(v) })
		if out.Err == nil {
			out.Err = &delegation.Error{Code: delegation.CodeInvalid, Message: fmt.Sprintf("orchestrator: the metadata %.64q of the output is not JSON", name)}
		}
		break
	}
	if out.Messages == nil {
		out.Messages = f.messages()
	}
	out.Messages, _ = out.Messages.Repair()
	out.Messages = out.Messages.Clip()
	out.Usage, out.Elapsed = f.used.usage, f.used.elapsed
	return out
}
