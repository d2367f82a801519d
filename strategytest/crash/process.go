package crash

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// process is a process that works on the run. Once it is killed, nothing that it does counts: it
// stores nothing, tells nothing, and begins nothing. What it had begun may have had its effect. One
// that is frozen instead does nothing until it is woken, when others have worked on the run.
type process struct {
	w      *world
	gates  *gates
	frozen chan struct{} // closed when the process is
	woken  chan struct{} // closed when it is woken
	done   chan struct{} // closed when it has ended
	end    ending

	mu     sync.Mutex
	dead   bool
	sleeps bool // it is frozen, or was
}

func newProcess(w *world) *process {
	return &process{w: w, gates: newGates(), frozen: make(chan struct{}), woken: make(chan struct{}), done: make(chan struct{})}
}

// boundary is a point at which the process may be killed or frozen, and reports whether it still
// lives.
func (p *process) boundary(kind, name string) bool {
	p.mu.Lock()
	if !p.dead && !p.sleeps && p.w.cutsAt(kind, name) {
		if p.sleeps = p.w.freezes; p.sleeps {
			close(p.frozen)
		} else {
			p.dead = true
			p.gates.close()
		}
	}
	p.mu.Unlock()
	return !p.isDead()
}

// isDead reports whether the process was killed. One that is frozen reports nothing until it is
// woken.
func (p *process) isDead() bool {
	p.mu.Lock()
	dead, sleeps := p.dead, p.sleeps
	p.mu.Unlock()
	if sleeps {
		<-p.woken
	}
	return dead
}

// wasFrozen reports whether the process is frozen, or was.
func (p *process) wasFrozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sleeps
}

// configure makes the Config of a case that of the process.
func (p *process) configure(cfg orchestrator.Config) orchestrator.Config {
	cfg.Client, cfg.Store = client{p, cfg.Client}, processStore{p}
	cfg.Middleware = []orchestrator.Middleware{p.around}
	if cfg.Reply = nil; !p.w.apart {
		cfg.Reply = p.ask
	}
	list := make([]tools.Tool, len(cfg.Tools))
	for i, t := range cfg.Tools {
		if list[i] = t; t != nil && machine.AgentOf(t) == nil {
			list[i] = keyed{Tool: t, w: p.w}
		}
	}
	cfg.Tools = list
	return cfg
}

// around is a middleware that has effects begin and end in their turn.
func (p *process) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if !p.gates.wait(gate{effect: e.ID, frame: p.w.turn(e.Frame)}) {
			return nil, errKilled
		}
		kind, name := kindOf(&e), p.w.begins(&e)
		if !p.boundary(kind, "before "+name) {
			return nil, errKilled
		}
		if e.Kind == machine.EffectModel {
			ctx = context.WithValue(ctx, requestKey{}, p.w.requestOf(e.Frame))
		}
		p.w.started(e, p.wasFrozen())
		answer, err := next(context.WithValue(ctx, placeKey{}, placeOf(&e)), e)
		if !p.gates.wait(gate{effect: e.ID, frame: p.w.turn(e.Frame), ends: true}) || !p.boundary(kind, "after "+name) {
			return nil, errKilled
		}
		return answer, err
	}
}

// ask has a person answer.
func (p *process) ask(_ context.Context, w machine.Wait) (machine.Reply, error) {
	at := gate{effect: machine.EffectID{Seq: w.Seq}, frame: p.w.turn(w.Frame), asked: w.CallID + " " + w.ID}
	name := fmt.Sprintf("the answer to the %s about %s %s", w.Kind, w.Tool, w.CallID)
	if !p.gates.wait(at) || !p.boundary(kindReply, "before "+name) {
		return machine.Reply{}, errKilled
	}
	reply := p.w.answer(&w)
	if at.ends = true; !p.gates.wait(at) || !p.boundary(kindReply, "after "+name) {
		return machine.Reply{}, errKilled
	}
	return reply, nil
}

// ending is how a process ended.
type ending struct {
	killed  bool
	refused error // the run could not be begun or gone on with
	result  orchestrator.Result
	err     error
}

// follow hears what the process tells, until it ends, is killed, or is frozen.
func (p *process) follow(events iter.Seq2[machine.Event, error]) ending {
	go func() {
		defer close(p.done)
		for e, err := range events {
			if !p.hear(&e, err) {
				break
			}
		}
	}()
	if p.goOn(); p.wasFrozen() {
		return ending{killed: true}
	}
	p.end.killed = p.isDead()
	return p.end
}

// goOn has the process go on until it ends, or is frozen.
func (p *process) goOn() {
	if !p.gates.open(p.done, p.frozen) {
		panic("crash: nothing happens any more, and the run has not ended: " + p.w.title())
	}
	select {
	case <-p.done: // nobody hears of what was abandoned
		p.gates.close()
	default:
	}
}

// wake has a process go on that was frozen, and returns how it ended.
func (p *process) wake() ending {
	close(p.woken)
	p.frozen = nil
	p.goOn()
	return p.end
}

// hear takes an event, and reports whether the process lives.
func (p *process) hear(e *machine.Event, err error) bool {
	if p.isDead() {
		return false
	}
	if e.Kind == "" {
		p.end.refused = err
		return false
	}
	if sense := p.w.c.senses.event; sense != nil {
		sense(p.w, e)
	}
	if e.Index > 0 {
		if !p.boundary(kindEvent, fmt.Sprintf("before the telling of %s of frame %s", e.Kind, e.Frame)) {
			return false
		}
		p.w.told(e)
	}
	if d, ok := e.Detail.(machine.RunFinished); ok {
		p.end.result = orchestrator.Result{Run: e.Run, Status: d.Status, Output: d.Output, Waits: d.Waits, Strategy: d.Strategy}
		p.end.err = err
	}
	return true
}

// keyed is a tool that looks at the idempotency key that it is given.
type keyed struct {
	tools.Tool
	w *world
}

// Unwrap returns the tool of the case.
func (k keyed) Unwrap() tools.Tool { return k.Tool }

// Call makes the call.
func (k keyed) Call(ctx context.Context, arguments string) (string, error) {
	place, _ := ctx.Value(placeKey{}).(string)
	k.w.keyGiven(place, tools.IdempotencyKey(ctx))
	return k.Tool.Call(ctx, arguments)
}

type placeKey struct{}

// placeOf names a call within its run. What the name says is stored before the call begins.
func placeOf(e *machine.Effect) string { return place(e.Frame, e.ID.Seq, e.Call.ID, e.Call.Name) }

// placeOfWait names the call that a wait is about.
func placeOfWait(w *machine.Wait) string { return place(w.Frame, w.Seq, w.CallID, w.Tool) }

func place(frame string, seq int, call, tool string) string {
	return fmt.Sprintf("call %s of %s in frame %s, step %d", call, tool, frame, seq)
}

var (
	_ checkpoint.Leaser = processStore{}
	_ checkpoint.Inbox  = processStore{}
)
