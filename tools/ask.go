package tools

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/segue-go/segue/messages"
)

// ErrSuspended is what an error wraps that says: the answer is not to be had now. A tool that gets
// it from [Ask] returns it (wrapped or not); then its call has no result, the run ends as waiting,
// and the call is made again once somebody has answered.
var ErrSuspended = errors.New("tools: nobody can answer now")

// ErrNobody is returned by [Ask] where there is nobody to ask: outside a [Runner] and [WithAsk], or
// in a [Job] without an Ask. A tool that is Inline counts as outside.
var ErrNobody = errors.New("tools: there is nobody to ask here")

// AskFunc asks a person what a tool wants to know. It is called on the tool's goroutine, several at
// once, with the tool's context, and returns an error that wraps [ErrSuspended] where the answer is
// not to be had now. A tool that was abandoned may still be in it.
type AskFunc func(ctx context.Context, a Asked) (string, error)

// Asked is a [Question] of a running tool.
type Asked struct {
	Question
	Call messages.ToolCall // the tool's; zero for a question that is asked through [WithAsk]
}

type askKey struct{}

// WithAsk returns a context whose questions ask answers: with it [Ask] works outside a call, as in
// a middleware around the request of a model. A tool asks through its [Job] all the same.
func WithAsk(ctx context.Context, ask AskFunc) context.Context {
	return context.WithValue(ctx, askKey{}, ask)
}

// Question is what a tool asks a person.
type Question struct {
	Kind    string   // what is asked for, for whoever shows it; "" means "question"
	Text    string   // what to tell the person
	Options []string // answers to choose from; none means any text. The person may say something else all the same

	// Until is when an answer is not waited for any longer; zero: it is, without end.
	Until time.Time
}

// Ask asks a person, through whoever runs the tool of ctx or [WithAsk], and returns the answer. It
// waits as long as the answer takes, or returns an error that wraps [ErrSuspended], which the tool
// has to return at once: when the answer is there the tool is called again from its beginning, so
// what it does before Ask is done twice. A question is known by its kind and text, so a tool that
// asks several asks them alike each time. A person who declines to answer is a [*DeclinedError].
// Once ctx is done nobody is asked any more, and the error is its cause.
//
// A tool that asks takes as long as a person does: its Definition wants a Timeout to match, such as
// -1 for none.
func Ask(ctx context.Context, q Question) (string, error) {
	ask, _ := ctx.Value(askKey{}).(AskFunc)
	if ask == nil {
		return "", ErrNobody
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if q.Kind == "" {
		q.Kind = KindQuestion
	}
	return ask(ctx, Asked{Question: q})
}

// askFor asks what the tool of the call wants to know. It is an [AskFunc].
func (c *Running) askFor(ctx context.Context, a Asked) (string, error) {
	if own := (*toolContext)(c); own.Err() != nil { // ctx may have been made to outlive the call
		return "", context.Cause(own)
	}
	a.Call = c.call
	text, err := c.ask(ctx, a)
	if errors.Is(err, context.Canceled) { // the run was stopped, which may leave the context as it is
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stopped = true
	}
	return text, err
}

// WaitUntil waits for a time, such as tomorrow at nine, without a process that waits: as [Ask] does
// it returns an error that wraps [ErrSuspended], which the tool has to return at once, and the tool
// is called again from its beginning once the time has come; then WaitUntil returns nil. What names
// the wait, for people and for the tool: it has to be the same in both calls, and another for each
// wait of a call. The time of the first call is the one that counts.
//
// It takes a run with a journal and somebody who resumes it then, such as the Recover of package
// orchestrator. Where the run has somebody to ask in its process, WaitUntil waits there.
func WaitUntil(ctx context.Context, at time.Time, what string) error {
	_, err := Ask(ctx, Question{Kind: KindTimer, Text: what, Until: at})
	return err
}

// KindTimer is the kind of a [Question] that nobody is asked: see [WaitUntil].
const KindTimer = "timer"

// KindQuestion is the kind of a [Question] that names none.
const KindQuestion = "question"

// DeclinedError says that a person does not want to answer.
type DeclinedError struct{ Reason string }

// Error gives the reason.
func (e *DeclinedError) Error() string {
	if e.Reason == "" {
		return "tools: the person declined to answer"
	}
	return "tools: the person declined to answer: " + e.Reason
}

// AskUserName is the name of the tool that [AskUser] returns.
const AskUserName = "ask_user"

// AskUser returns a tool with which a model asks the person it works for, as [Ask] does. The result
// is the answer; a person who declines, or nobody to ask, is a failed result.
func AskUser() Tool {
	type question struct {
		Question string   `json:"question" jsonschema:"what you need to know, as one question"`
		Options  []string `json:"options,omitempty" jsonschema:"answers to choose from, if there are only so many"`
	}
	def := Definition{
		Name:        AskUserName,
		Description: "Asks the user a question and returns the answer. Use it only for what you cannot find out yourself.",
		ReadOnly:    true,
		Timeout:     -1,
	}
	return New(def, func(ctx context.Context, q question) (string, error) {
		if strings.TrimSpace(q.Question) == "" {
			return "", &ArgumentError{Tool: AskUserName, Problems: []Problem{{Pointer: "/question", Message: "is empty"}}}
		}
		return Ask(ctx, Question{Text: q.Question, Options: q.Options})
	})
}
