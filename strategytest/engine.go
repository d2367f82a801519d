package strategytest

import (
	"context"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// engine drives a Machine with a loop of its own, one effect after the other, and from its journal:
// each record is applied as it is read back. Nobody answers questions.
type engine struct {
	m       *machine.Machine
	tools   *tools.Set
	model   *model
	keys    *keys
	stops   breakpoint
	notes   *saying
	open    []machine.Effect
	journal [][]byte
	events  []machine.Event
}

// prices are the default prices of an Orchestrator.
var prices = llmclient.KnownPrices()

// run executes a run, to its end or until it waits.
func (e *engine) run(started machine.Started) error {
	err := e.apply(started)
	for err == nil && !e.m.Done() && (len(e.open) > 0 || len(e.stops.held) > 0) {
		if len(e.open) == 0 {
			err = e.stop()
			continue
		}
		x := e.open[0]
		e.open = e.open[1:]
		key := e.keys.of(x.Frame, x.ID.Seq)
		if err = e.say(key); err == nil && !e.holds(key, &x) {
			err = e.perform(context.WithValue(context.Background(), keyed{}, key), &x)
		}
	}
	return err
}

// apply adds a record to the run, and then the records that are due at once.
func (e *engine) apply(rec machine.Record) error {
	data, err := machine.AppendRecord(nil, rec)
	if err == nil {
		rec, err = machine.ReadRecord(data)
	}
	if err == nil {
		err = e.m.Apply(rec)
	}
	if err != nil {
		return err
	}
	e.journal = append(e.journal, data)
	if intents := e.m.Ready().Intents; len(intents) > 0 {
		return e.apply(intents[0])
	}
	due := e.m.Ready()
	e.m.Advance()
	e.events = append(e.events, due.Events...)
	for _, x := range due.Effects {
		if x.Kind != machine.EffectPerson {
			e.open = append(e.open, x)
		}
	}
	return e.stopBefore(due.Events)
}

// perform performs an effect, and applies the result.
func (e *engine) perform(ctx context.Context, x *machine.Effect) error {
	if x.Kind != machine.EffectTool {
		req := x.Step.(nextstep.GetChatCompletion).Request
		resp, err := e.model.Complete(ctx, &req, nil)
		if err != nil {
			return e.apply(x.Answered(failure(err), time.Time{}, 0).Priced(req.Model, prices))
		}
		return e.apply(x.Answered(nextstep.APIResponse{Response: resp}, time.Time{}, 0).Priced(req.Model, prices))
	}
	asks := machine.Suspended{Effect: x.ID}
	ask := func(_ context.Context, a tools.Asked) (string, error) {
		asks.Waits = append(asks.Waits, machine.Wait{
			Run: x.Run, Frame: x.Frame, Seq: x.ID.Seq, Kind: a.Kind, CallID: x.Call.ID, Tool: x.Call.Name, Arguments: x.Call.Arguments,
			Text: a.Text, Options: a.Options, Untrusted: x.Untrusted,
		}.Identified(x.ID))
		return "", tools.ErrSuspended
	}
	job := toolrun.Job{Call: x.Call, Tool: x.Tool, Names: e.tools.Names, Key: x.Key(), Ask: ask}
	if job.Tool == nil {
		job.Tool, _ = e.tools.Lookup(x.Call.Name)
	}
	running := toolrun.Runner{}.Begin(ctx, job)
	out := running.Perform()
	if s, ok := running.Suspended(); ok {
		asks.Waits = nil
		for _, q := range s.Questions {
			_, _ = ask(ctx, tools.Asked{Question: q})
		}
	}
	if out.Reason == tools.ReasonSuspended {
		return e.apply(asks)
	}
	return e.apply(x.Answered(nextstep.ToolResult{Output: out}, time.Time{}, 0))
}
