package orchestrator

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/segue-go/segue/machine"
)

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
