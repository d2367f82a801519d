package tools

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/internal/toolkey"
	"github.com/segue-go/segue/messages"
)

// ErrSuspended reports that no answer is available yet. Errors of [Ask] may wrap it. The tool must
// then return the error, wrapped or not. Its call has no result, and the run waits; other libraries
// call this an interrupt. Once there is an answer, the run resumes and the call is made again.
var ErrSuspended = errors.New("tools: nobody can answer now")

// ErrNobody is returned by [Ask] if there is nobody to ask: outside a call and [WithAsk], or where
// the run can ask nobody.
var ErrNobody = errors.New("tools: there is nobody to ask here")

// AskFunc asks a person the question of a tool. It is called on the tool's goroutine, with the
// tool's context, and must be safe for concurrent use. It returns an error that wraps
// [ErrSuspended] if no answer is available yet. A call of an AskFunc may outlast its tool's call,
// if that is abandoned.
type AskFunc func(ctx context.Context, a Asked) (string, error)

// Asked is a [Question] of a running tool.
type Asked struct {
	Question
	Call messages.ToolCall // the call of the tool; zero for a question asked through [WithAsk]
}

// WithAsk returns a context in which ask answers the questions of [Ask]. It makes Ask usable
// outside a tool call, such as in a middleware around a model request. A tool still asks as its
// call does.
func WithAsk(ctx context.Context, ask AskFunc) context.Context {
	return context.WithValue(ctx, toolkey.Ask{}, ask)
}

// Question is a tool's question to a person.
type Question struct {
	Kind    string   // what is asked for, for the user interface; "" means "question"
	Text    string   // the text shown to the person
	Options []string // answers to choose from; none means any text. The person may still answer with another text

	// Until is when the wait ends without an answer; zero: never.
	Until time.Time
}

// Ask asks a person a question and returns the answer. The question goes to the code that runs the
// tool of ctx, or to the function given to [WithAsk].
//
// Ask waits for the answer, or returns an error that wraps [ErrSuspended]. The tool must return
// such an error at once. When the answer arrives, the tool is called again from its beginning, so
// what it does before Ask is done twice. A question is recognized by its kind and text, so a tool
// that asks several questions must ask the same ones each time. If the person declines to answer,
// the error is a [*DeclinedError]. Once ctx is done, nobody is asked, and the error is the cause of
// ctx.
//
// A person's time is not the tool's: it is counted neither in the Elapsed of the result nor in the
// time-out of the tool, which goes on when the answer is there. A context that the tool has given a
// deadline of its own ends at that deadline.
func Ask(ctx context.Context, q Question) (string, error) {
	ask, _ := ctx.Value(toolkey.Ask{}).(AskFunc)
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

// WaitUntil waits until a time, such as tomorrow at nine. No process has to wait meanwhile: like
// [Ask], WaitUntil returns an error that wraps [ErrSuspended], which the tool must return at once.
// When the time has come, the tool is called again from its beginning, and WaitUntil returns nil.
// The text what names the wait, for people and for the tool: it must be the same in both calls, and
// different for each wait of a call. The time of the first call counts.
//
// WaitUntil needs a run with a journal, and a process that resumes the run then, for example with
// the Recover method of package orchestrator. If the process can ask people, WaitUntil waits in it.
func WaitUntil(ctx context.Context, at time.Time, what string) error {
	_, err := Ask(ctx, Question{Kind: KindTimer, Text: what, Until: at})
	return err
}

// KindTimer is the kind of a [Question] that nobody is asked: see [WaitUntil].
const KindTimer = "timer"

// KindQuestion is the kind of a [Question] whose Kind is empty.
const KindQuestion = "question"

// DeclinedError reports that a person declined to answer.
type DeclinedError struct{ Reason string }

// Error includes the reason.
func (e *DeclinedError) Error() string {
	if e.Reason == "" {
		return "tools: the person declined to answer"
	}
	return "tools: the person declined to answer: " + e.Reason
}

// AskUserName is the name of the tool that [AskUser] returns.
const AskUserName = "ask_user"

// AskUser returns a tool that lets a model ask its user a question, as [Ask] does. The result is
// the answer. If the user declines, or if there is nobody to ask, the result is a failure.
func AskUser() Tool { return askUser() }

// askUser makes the tool once, because strategies bring it to each of their runs.
var askUser = sync.OnceValue(func() Tool {
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
})
