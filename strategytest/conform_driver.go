package strategytest

import (
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// driver drives the run of one strategy by hand, one step after the other. Whoever is asked whether
// a call may be made says yes.
type driver struct {
	m    *machine.Machine
	open []machine.Effect // of the step that is pending
}

// drive begins a run.
func drive(cfg *machine.Config, in delegation.Input) (*driver, error) {
	d := &driver{m: machine.New(cfg)}
	return d, d.apply(machine.Started{Run: "conform", Input: in, Parallel: -1})
}

// apply applies a record, and what is due by it.
func (d *driver) apply(rec machine.Record) error {
	due := []machine.Record{rec}
	for ; len(due) > 0; due = due[1:] {
		rec := due[0]
		if err := d.m.Apply(rec); err != nil {
			return err
		}
		ready := d.m.Ready()
		due = append(due, ready.Intents...)
		for _, e := range ready.Effects {
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

// pending returns the step that has to be answered.
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

// answer answers the step: of a batch each call, in their order.
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
