package policyclient

import (
	"errors"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
)

// A model may write a call in another format than that of the policy, or a server may leave out the
// marks of a call: llama.cpp does so with those that are special tokens of the model. What ends a
// reply in which the policy finds no call is therefore read as [markdownpolicy.LeftCalls] reads it.

// unread returns how much of the text so far the policy may read: not what may be such calls.
func (r *reply) unread(text string, final bool) int {
	to := r.readable(text, final)
	if r.left == nil {
		return to
	}
	if !final {
		return min(to, r.left.Held(text[:to]))
	}
	found, ok := r.left.Read(text[:to])
	if ok && found.Problem != "" && text[found.Start] == '<' && !strings.HasPrefix(text[found.Start:], "<name>") {
		ok = false // the mark may be one of the policy's own
	}
	if ok && !found.IsQuoted(text[:to], r.asked.Messages) {
		doc, err := r.policy.ParseResponse(text[:to])
		if err == nil && !slices.ContainsFunc(doc.Contents(), isCall) {
			r.found = found
			r.foundEnd = to
			return len(strings.TrimRight(text[:found.Start], " \t\r\n"))
		}
	}
	return to
}

// leftParts returns the calls that were found, and their problem.
func (r *reply) leftParts() (parts []markdownpolicy.Part, problem *markdownpolicy.ParseError) {
	for _, c := range r.found.Calls {
		parts = append(parts, markdownpolicy.Part{Content: c, Start: r.found.Start, End: r.raw.Len()})
	}
	if r.found.Problem != "" {
		problem = &markdownpolicy.ParseError{Line: 1 + strings.Count(r.raw.String()[:r.found.Start], "\n"), Offset: r.found.Start, Expected: "a call that can be made (" + r.found.Problem + ")", Err: errors.New(r.found.Problem)}
	}
	return parts, problem
}
