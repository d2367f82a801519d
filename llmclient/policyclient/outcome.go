package policyclient

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// response returns resp with the parts that were read as its message.
func (r *reply) response(attempts []llmclient.Attempt, resp *llmclient.Response) *llmclient.Response {
	own := *resp
	own.Message.Content = r.content
	own.Attempts = slices.Concat(attempts, resp.Attempts)
	own.Read = len(r.found.Calls)
	calls := own.Message.Calls() != nil
	if r.ended && own.Finish == llmclient.FinishLength {
		own.Finish = llmclient.FinishStop
	}
	switch {
	case calls && cmp.Or(own.Finish, llmclient.FinishStop) == llmclient.FinishStop:
		own.Finish = llmclient.FinishToolCalls
	case !calls && own.Finish == llmclient.FinishToolCalls:
		own.Finish = llmclient.FinishStop
	}
	return &own
}

// unreadable returns the error for a reply that could be read only up to the problem.
func (r *reply) unreadable(resp *llmclient.Response, problem *markdownpolicy.ParseError) *llmclient.Error {
	return &llmclient.Error{
		Code:      llmclient.CodeMalformedToolCall,
		Message:   problem.Error(),
		Model:     cmp.Or(resp.Model, r.asked.Model),
		Generated: r.raw.String()[:max(r.text.Len(), r.foundEnd)],
		Partial:   messages.Assistant{Content: r.content},
		Usage:     resp.Usage,
		Attempts:  resp.Attempts,
		Err:       problem,
	}
}

// canceled returns the error of a call whose ctx was done before an unreadable reply was sent back.
// It contains the readable part.
func canceled(ctx context.Context, unreadable *llmclient.Error) *llmclient.Error {
	own := *unreadable
	own.Code = llmclient.CodeCanceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		own.Code = llmclient.CodeTimeout
	}
	own.Message = "policyclient: gave up before a reply that could not be read was sent back: " + unreadable.Message
	cause := context.Cause(ctx)
	if cause != ctx.Err() { //nolint:errorlint // the very same value
		cause = errors.Join(ctx.Err(), cause)
	}
	own.Err = errors.Join(cause, unreadable.Err)
	return &own
}

// brokenOff returns the error of a client, with the received part read by the policy.
func (r *reply) brokenOff(err error) error {
	e, ok := errors.AsType[*llmclient.Error](err)
	if !ok || e.Partial.Text() == "" {
		return err
	}
	own := copied(err)
	r.onDelta = nil
	_ = r.finish(e.Partial, true, r.mayCall()) // a cut reply is not sent back
	own.Partial.Content = r.content
	return own
}

// copied returns err as a new error that can be changed.
func copied(err error) *llmclient.Error {
	e, ok := errors.AsType[*llmclient.Error](err)
	if !ok {
		own := &llmclient.Error{Err: err}
		switch {
		case errors.Is(err, context.Canceled):
			own.Code = llmclient.CodeCanceled
		case errors.Is(err, context.DeadlineExceeded):
			own.Code = llmclient.CodeTimeout
		}
		return own
	}
	own := *e
	if err != error(e) { //nolint:errorlint // the very same value
		own.Err = err
	}
	return &own
}

// attemptsOf lists a reply that was sent back, after the earlier failures.
func attemptsOf(e *llmclient.Error) []llmclient.Attempt {
	sent := llmclient.Attempt{Model: e.Model, Usage: e.Usage, Code: e.Code, Error: e.Message}
	return append(slices.Clip(e.Attempts), sent)
}

// errorAfter returns err with the attempts made before it.
func errorAfter(attempts []llmclient.Attempt, err error) error {
	if len(attempts) == 0 {
		return err
	}
	own := copied(err)
	own.Attempts = slices.Concat(attempts, own.Attempts)
	return own
}
