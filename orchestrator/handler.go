package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Handler performs one effect, which is a model call, a tool call or a remote delegation. It
// returns the answer: a nextstep.APIResponse, ToolResult or DelegationResult. An error means that
// the effect could not be performed; it becomes a [nextstep.Failure], or the failed result of a
// tool call. An error that is or wraps [tools.ErrSuspended] says that the effect waits for a person; see
// [SuspendedError].
//
// [Emit] and [tools.Ask] work with the context. Handlers of one run are called concurrently, on
// several goroutines.
type Handler func(ctx context.Context, e machine.Effect) (nextstep.Answer, error)

// Middleware wraps a [Handler]. It may inspect an effect, change its request or the arguments of
// its call, answer it without calling next, call next again, or change the answer. A call that is
// neither read-only nor idempotent is made only once: a second call of next is refused. The call of
// an agent is not an effect, but the agent's own model and tool calls are. Context values reach
// models and tools.
type Middleware func(next Handler) Handler

// SuspendedError reports that an effect waits for a person, and lists its waits.
type SuspendedError struct {
	Waits []machine.Wait
	State []byte // JSON; passed to the Handler in Effect.State when the waits are answered, and that of a Remote to tools.Resumed; may be nil
}

// Error says how many waits there are.
func (e *SuspendedError) Error() string {
	return fmt.Sprintf("orchestrator: the run waits for %d answers", len(e.Waits))
}

// Unwrap returns [tools.ErrSuspended].
func (e *SuspendedError) Unwrap() error { return tools.ErrSuspended }

// Emit adds an event of the effect of ctx to the stream. It sets run, frame, depth, seq, record and
// time. The kind is one of your own, without a Detail, or EventToolProgress, with a [machine.ToolProgress]
// or without a Detail. Only the library emits the other kinds: Emit drops and logs an event of such
// a kind, with another Detail, or with a kind that is empty or not UTF-8. Emit may be called from
// any goroutine. It does nothing after the effect has ended, if ctx is not from a run, or if
// Config.Redact holds events back.
func Emit(ctx context.Context, e machine.Event) {
	x := executionOf(ctx)
	if x == nil {
		return
	}
	if problem := adopt(&e); problem != "" {
		x.run.logEventRefused(&x.effect, e.Kind, problem)
		return
	}
	if x.run.o.heldBack() {
		return
	}
	x.emit(e)
}

// adopt prepares an event of a middleware to be emitted, as [Emit] says, or says why it cannot be.
func adopt(e *machine.Event) (problem string) {
	e.Text = strings.ToValidUTF8(e.Text, "\ufffd")
	switch {
	case e.Kind == machine.EventToolProgress:
		p, ok := e.Detail.(machine.ToolProgress)
		if !ok && e.Detail != nil {
			return "the detail of tool_progress is a ToolProgress"
		}
		p.CallID, p.ToolName = strings.ToValidUTF8(p.CallID, "\ufffd"), strings.ToValidUTF8(p.ToolName, "\ufffd")
		e.Detail = p
		return ""
	case e.Kind.Reserved():
		return "events of this kind are the library's"
	case e.Kind == "" || !utf8.ValidString(string(e.Kind)):
		return "the kind is empty, or not UTF-8"
	case e.Detail != nil:
		return "events of your own kinds have no detail"
	default:
		return ""
	}
}

// emit adds an event of the effect to the stream.
func (x *execution) emit(e machine.Event) {
	x.mu.Lock()
	ended := x.ended
	x.mu.Unlock()
	if ended {
		return
	}
	told := x.event()
	told.Kind, told.Text, told.Detail, told.Time = e.Kind, e.Text, e.Detail, time.Now()
	if x.alone {
		x.run.consumer.deliver(&told)
		return
	}
	x.run.box.deliver(x, mail{execution: x, event: &told})
}

// event returns an event of the effect, with the time at which it began.
func (x *execution) event() machine.Event { return eventOf(&x.effect, x.began) }

// eventOf returns the common fields of the events of an effect.
func eventOf(e *machine.Effect, at time.Time) machine.Event {
	return machine.Event{Run: e.Run, Frame: e.Frame, Depth: e.Depth, Seq: e.ID.Seq, Record: e.Record, Time: at}
}

// perform is the innermost Handler.
func (o *Orchestrator) perform(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
	x := executionOf(ctx)
	if x == nil {
		return nil, errors.New("orchestrator: an effect is performed with the context that its Handler was given")
	}
	return x.perform(ctx, &e)
}

// perform performs an effect, which a middleware may have changed.
func (x *execution) perform(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	switch x.effect.Kind { // steps are large: only functions that need one unpack it, to keep the stack small
	case machine.EffectModel:
		return x.askModel(ctx, e)
	case machine.EffectTool:
		return x.callTool(ctx, e)
	case machine.EffectRemote:
		return x.delegate(ctx, e)
	default:
		return nil, fmt.Errorf("orchestrator: an effect of kind %q is not performed here", x.effect.Kind)
	}
}

// delegate runs a strategy in another service.
func (x *execution) delegate(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	step, ok := e.Step.(nextstep.Delegate)
	if !ok {
		return nil, fmt.Errorf("orchestrator: a middleware made a %T of a delegation", e.Step)
	}
	remote, ok := x.run.o.cfg.Remote[step.Strategy]
	if !ok {
		return nil, fmt.Errorf("orchestrator: no remote strategy %q", step.Strategy)
	}
	return x.callRemote(ctx, remote, step)
}

// failure turns the error of a Handler into an answer.
func (r *run) failure(kind machine.EffectKind, err error) nextstep.Failure {
	answer := nextstep.Failure{Code: delegation.AsError(err).Code, Message: err.Error()}
	switch kind {
	case machine.EffectModel:
		answer.Source = nextstep.SourceModel
	case machine.EffectTool:
		answer.Source = nextstep.SourceTool
	default:
		answer.Source = nextstep.SourceStrategy
	}
	if failed, ok := errors.AsType[*llmclient.Error](err); ok {
		answer.Code, answer.Model, answer.Partial = delegation.Code(failed.Code), failed.Model, failed.Partial
		bill(&answer, failed.Usage, failed.Attempts)
		if len(answer.Partial.Content) == 0 && failed.Generated != "" {
			answer.Partial = messages.AssistantText(failed.Generated)
		}
	}
	r.causes.note(answer.Code, answer.Message, err)
	return answer
}

// bill puts into a failure what was billed nevertheless. A count below zero is none.
func bill(f *nextstep.Failure, u messages.Usage, attempts []llmclient.Attempt) {
	f.Usage, f.Attempts = counted(u), slices.Clone(attempts)
	for i := range f.Attempts {
		f.Attempts[i].Usage = counted(f.Attempts[i].Usage)
	}
}

func counted(u messages.Usage) messages.Usage {
	for _, n := range []*int64{&u.Input, &u.Output, &u.Total, &u.Cached, &u.Reasoning, &u.CacheWrites, &u.Estimated} {
		*n = max(0, *n)
	}
	return u
}
