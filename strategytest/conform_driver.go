package strategytest

import (
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// driver drives the run of one strategy, one step after the other. It approves every call.
type driver struct {
	m    *machine.Machine
	open []machine.Effect // of the pending step
}

// drive begins a run.
func drive(cfg *machine.Config, in delegation.Input) (*driver, error) {
	d := &driver{m: machine.New(cfg)}
	return d, d.apply(cfg.Start(machine.Started{Run: "conform", Strategy: "subject", Input: in, Parallel: -1}))
}

// apply applies a record, and the records that are due after it. An intent may withdraw others.
func (d *driver) apply(rec machine.Record) error {
	due := []machine.Record{rec}
	for ; len(due) > 0; due = due[1:] {
		if err := d.m.Apply(due[0]); err != nil {
			return err
		}
		for intents := d.m.Ready().Intents; len(intents) > 0; intents = d.m.Ready().Intents {
			if err := d.m.Apply(intents[0]); err != nil {
				return err
			}
		}
		for _, e := range d.m.Ready().Effects {
			if e.Kind == machine.EffectPerson {
				due = append(due, machine.Replied{Reply: machine.Reply{WaitID: e.Wait.ID, Approve: true}})
			} else {
				d.open = append(d.open, e)
			}
		}
		d.m.Advance()
	}
	return nil
}

// pending returns the step that must be answered.
func (d *driver) pending() nextstep.NextStep {
	if d.open[0].Kind != machine.EffectTool {
		return d.open[0].Step
	}
	var calls []messages.ToolCall
	for i := range d.open {
		calls = append(calls, d.open[i].Call)
	}
	return nextstep.ExecuteTools{Calls: calls}
}

// answer answers the step: for a batch each call, in order.
func (d *driver) answer(a answer) error {
	for seq := d.open[0].ID.Seq; len(d.open) > 0 && d.open[0].ID.Seq == seq; {
		e := d.open[0]
		d.open = slices.Delete(d.open, 0, 1)
		if err := d.apply(e.Answered(a.make(&e), time.Time{}, 0)); err != nil {
			return err
		}
	}
	return nil
}
