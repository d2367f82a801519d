package policyclient

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// resultMark returns what a policy writes before each result, up to what differs from result to
// result; "" if there is nothing.
func resultMark(p markdownpolicy.Policy) string {
	const name, id, output = "toolname", "call_0_9", "5407"
	told, err := p.FormatQuery(messages.History{
		messages.UserText("?"),
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: id, Name: name, Arguments: "{}"}}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: name, Output: output}},
	})
	if err != nil || len(told) == 0 {
		return ""
	}
	user, _ := told.Last().(messages.User)
	mark := user.Text()
	for _, end := range []string{"\n", name, id, output, "{", " name="} {
		mark, _, _ = strings.Cut(mark, end)
	}
	return strings.TrimLeft(mark, " ")
}

// stopsAt returns the stop sequences with one for the results that a model invents, unless the
// client takes none.
func (c *client) stopsAt(mark string, stops []string) []string {
	taker, ok := llmclient.As[llmclient.StopTaker](c.inner)
	stop := "\n" + mark
	if mark == "" || ok && !taker.TakesStop() || slices.ContainsFunc(stops, func(s string) bool { return strings.Contains(stop, s) }) {
		return stops
	}
	return append(slices.Clip(stops), stop)
}

// readable returns how much of the text so far is the model's own: up to a line that begins with
// the mark of a result, if a call precedes it or nothing, and up to a line that may yet begin so.
func (r *reply) readable(text string, final bool) int {
	for r.mark != "" && r.mayCall() && !r.ended {
		line := text[r.line:]
		begins := strings.TrimLeft(line, " ")
		switch {
		case strings.HasPrefix(begins, r.mark):
			if r.ended = r.isInvented(text[:r.line]); r.ended {
				return r.line
			}
		case !final && strings.HasPrefix(r.mark, begins):
			return r.line
		}
		i := strings.IndexByte(line, '\n')
		if i < 0 {
			break
		}
		r.line += i + 1
	}
	if r.ended {
		return r.line
	}
	return len(text)
}

// isInvented reports whether a result behind a text was invented.
func (r *reply) isInvented(before string) bool {
	if strings.TrimSpace(before) == "" {
		return true
	}
	if r.patience -= len(before); r.patience < 0 {
		return false
	}
	doc, err := r.policy.ParseResponse(before)
	return err == nil && slices.ContainsFunc(doc.Contents(), isCall)
}

// unfounded returns the problem of a reply that is nothing but an invented result.
func (r *reply) unfounded() *markdownpolicy.ParseError {
	if !r.ended || strings.TrimSpace(r.text.String()) != "" {
		return nil
	}
	return &markdownpolicy.ParseError{Line: 1, Expected: "a call or an answer of your own, since results are given to you", Found: r.mark}
}
