package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Handler performs one effect, which is a model call, a tool call or a remote delegation. It
// returns the answer: a nextstep.APIResponse, ToolResult or DelegationResult. An error means that
// the effect could not be performed; it becomes a [nextstep.Failure], or the failed result of a
// tool call. An error that is or wraps [tools.ErrSuspended] says that the effect waits for a
// person; see [SuspendedError].
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
	return "orchestrator: the run waits for " + answers(len(e.Waits))
}

// answers says how many answers.
func answers(n int) string {
	if n == 1 {
		return "an answer"
	}
	return fmt.Sprintf("%d answers", n)
}

// Unwrap returns [tools.ErrSuspended].
func (e *SuspendedError) Unwrap() error { return tools.ErrSuspended }

// Emit adds an event of the effect of ctx to the stream. It sets run, frame, depth, seq, record and
// time. The kind is one of your own, without a Detail, or EventToolProgress, with a
// [machine.ToolProgress] or without a Detail. Only the library emits the other kinds: Emit drops
// and logs an event of such a kind, with another Detail, or with a kind that is empty or not UTF-8.
// Emit may be called from any goroutine. It does nothing after the effect has ended, if ctx is not
// from a run, or if Config.Redact holds events back.
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

// callRemote calls a remote in the role of a tool, so that it has in its context what a tool has.
// It may suspend its effect as a tool does, or by a [SuspendedError].
func (x *execution) callRemote(ctx context.Context, remote Remote, step nextstep.Delegate) (answer nextstep.Answer, err error) {
	whose := "the remote " + step.Strategy
	err = context.Canceled // stays if the remote is not called
	tool := tools.NewRaw(tools.Definition{Name: step.Strategy}, func(ctx context.Context, _ string) (string, error) {
		out, problem := remote(ctx, step)
		if err = x.readError(problem, whose); err == nil {
			answer = nextstep.DelegationResult{Output: out}
		}
		return "", err
	})
	runner := toolrun.Runner{Timeout: -1, OnPanic: func(_ messages.ToolCall, value any, stack []byte) {
		err = x.brokeDown(whose, value, stack)
	}}
	call := runner.Begin(ctx, toolrun.Job{
		Call: messages.ToolCall{Name: step.Strategy}, Tool: tool, Key: x.effect.Key(), Ask: x.ask, Resumption: x.resumption(),
	})
	out := call.Perform()
	if out.Reason != tools.ReasonSuspended {
		return answer, err
	}
	s, ok := call.Suspended()
	own, is := errors.AsType[*SuspendedError](err)
	if !ok && is && own != nil && x.suspension(&out).Waits[0].ID == "" { // nobody was asked by Ask
		s, ok = toolrun.Suspension{State: own.State}, true
		for i := range own.Waits {
			w := &own.Waits[i]
			s.Questions = append(s.Questions, tools.Question{Kind: cmp.Or(w.Kind, machine.WaitStep), Text: w.Text, Options: w.Options, Until: w.Expires})
		}
	}
	if ok {
		err = x.suspended(&s)
	}
	return nil, err
}

// panicked reports a panic to Config.OnPanic and the log. OnPanic may panic too.
func (o *Orchestrator) panicked(ctx context.Context, p *machine.PanicReport) {
	if o.cfg.Logger != nil {
		attrs := []slog.Attr{
			slog.String("run", p.Run), slog.String("frame", p.Frame), slog.Int("seq", p.Seq), slog.String("where", p.Where),
			slog.String("type", fmt.Sprintf("%T", p.Value)), slog.String("stack", string(p.Stack)),
		}
		if o.cfg.LogContent {
			attrs = append(attrs, slog.Any("value", p.Value))
		}
		o.log(ctx, slog.LevelError, "contained a panic", attrs...)
	}
	if o.cfg.OnPanic == nil {
		return
	}
	defer func() { _ = recover() }()
	o.cfg.OnPanic(ctx, *p)
}

// panicked reports a panic during an effect. It is called from any goroutine.
func (x *execution) panicked(where string, value any, stack []byte) {
	e := &x.effect
	x.run.o.panicked(x.run.ctx, &machine.PanicReport{Run: e.Run, Frame: e.Frame, Seq: e.ID.Seq, Where: where, Value: value, Stack: stack})
}

// config returns the configuration of the run's Machine: the shared one, or a copy if panics must
// be reported with the context of the run. Panics during a replay are not reported again.
func (o *Orchestrator) config(r *run) *machine.Config {
	cfg := &o.quiet
	if r.observed() {
		cfg = &o.full
	}
	if o.cfg.OnPanic == nil && o.cfg.Logger == nil {
		return cfg
	}
	own := *cfg
	own.OnPanic = func(p machine.PanicReport) {
		if !r.replays {
			o.panicked(r.ctx, &p)
		}
	}
	return &own
}

// observed reports whether the events of the run's steps and tools are consumed or logged.
func (r *run) observed() bool { return r.streams || r.o.cfg.Logger != nil || r.observation != nil }

// guard calls a method of the store, and turns a panic into an error.
func (o *Orchestrator) guard(ctx context.Context, run, method string, call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &machine.PanicError{Value: v, Stack: debug.Stack()}
			o.panicked(ctx, &machine.PanicReport{Run: run, Where: "the store in " + method, Value: v, Stack: p.Stack})
			err = p
		}
	}()
	return call()
}

// readError converts an error from foreign code to data: from a client, a middleware, a remote, a
// store, Config.Reply, or the cause of a context. After that no method of the error itself is
// called. An error whose methods panic, such as a typed nil, becomes a [*machine.PanicError] with
// [delegation.CodePanic]; the PanicError is also returned.
func readError(err error) (unreadable *machine.PanicError, data error) {
	switch e := err.(type) { //nolint:errorlint // exactly these types are safe
	case nil:
		return nil, nil
	case *guard.Error:
		return nil, e
	case *SuspendedError:
		if e != nil {
			return nil, e
		}
	}
	defer func() {
		if v := recover(); v != nil {
			unreadable = &machine.PanicError{Value: v, Stack: debug.Stack()}
			data = delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: the Error method of a %T %w", err, unreadable))
		}
	}()
	return nil, guard.New(err, err.Error())
}

// readError is readError for an error of an effect; it reports a panic of the error.
func (x *execution) readError(err error, whose string) error {
	unreadable, data := readError(err)
	if unreadable != nil {
		x.panicked("an error of "+whose, unreadable.Value, unreadable.Stack)
	}
	return data
}

// boundary wraps a Handler that may be foreign code: it converts its error to data.
func boundary(h Handler) Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		answer, err := h(ctx, e)
		if x := executionOf(ctx); x != nil {
			return answer, x.readError(err, "a middleware")
		}
		_, data := readError(err)
		return answer, data
	}
}

// causeOfContext returns why a context is done, as data; nil if it is not.
func causeOfContext(ctx context.Context) error {
	_, cause := readError(context.Cause(ctx))
	return cause
}
