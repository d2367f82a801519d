package orchestrator

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/segue-go/segue/machine"
)

// panicked tells Config.OnPanic and the log of a panic. OnPanic may panic, too.
func (o *Orchestrator) panicked(ctx context.Context, p *PanicReport) {
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

// panicked reports a panic in the performing of an effect, on whatever goroutine.
func (x *execution) panicked(where string, value any, stack []byte) {
	e := x.effect
	x.run.o.panicked(x.run.ctx, &PanicReport{Run: e.Run, Frame: e.Frame, Seq: e.ID.Seq, Where: where, Value: value, Stack: stack})
}

// config returns what the Machine of a run works with: that of all runs, unless somebody wants to
// hear of panics, which are told with the context of the run. Those of a replay were told before.
func (o *Orchestrator) config(r *run) *machine.Config {
	cfg := &o.quiet
	if r.observed() {
		cfg = &o.full
	}
	if o.cfg.OnPanic == nil && o.cfg.Logger == nil {
		return cfg
	}
	own := *cfg
	own.OnPanic = func(p PanicReport) {
		if !r.replays {
			o.panicked(r.ctx, &p)
		}
	}
	return &own
}

// observed reports whether somebody sees the events of the run's steps and tools, or logs them.
func (r *run) observed() bool { return r.streams || r.o.cfg.Logger != nil }
