package builtin_test

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// carried is a Machine that goes on from the last snapshot of the run: as a later program would. It
// is applied the same records.
type carried struct {
	w *composed
	m *machine.Machine // nil: the run has not waited yet
}

// follow applies a record that m has just applied, and compares what comes of it. Where the run
// waits, the Machine is replaced by one that goes on from its snapshot.
func (c *carried) follow(m *machine.Machine, rec machine.Record) {
	if c.m != nil {
		if err := c.m.Apply(rec); err != nil {
			c.w.blame("record %d cannot be applied after a snapshot: %v", m.Records(), err)
			c.m = nil
			return
		}
		was, is := m.Ready().Events, c.m.Ready().Events
		for i := range was {
			if i >= len(is) || line(&was[i]) != line(&is[i]) {
				c.w.blame("event %d of record %d is another one after a snapshot: %s", i, m.Records(), line(&was[i]))
			}
		}
		if len(is) != len(was) || len(c.m.Open()) != len(m.Open()) {
			c.w.blame("record %d has other events or effects after a snapshot", m.Records())
		}
		for _, e := range m.Open() {
			if d, ok := c.m.Digest(e.ID); ok && d != e.Digest {
				c.w.blame("effect %s asks for something else after a snapshot", e.ID)
			}
		}
		c.m.Advance()
	}
	taken, err := m.Snapshot()
	if err != nil {
		return
	}
	if c.m != nil {
		if taken, err = c.m.Snapshot(); err != nil {
			c.w.blame("there is no second snapshot: %v", err)
			return
		}
	}
	c.goOn(m, &taken)
}

// finish goes on with a run that was left waiting, and with its other Machine: everybody agrees,
// and every model and tool says the same.
func (c *carried) finish(m *machine.Machine) {
	if c.m == nil {
		return
	}
	var intents []machine.Record
	for range 60 {
		var rec machine.Record
		if len(intents) > 0 {
			intent := intents[0].(machine.Intended)
			intent.At, intents = m.Now(), intents[1:]
			rec = intent
		} else if rec = next(m); rec == nil {
			return
		}
		if err := m.Apply(rec); err != nil {
			c.w.blame("a waiting run cannot go on: %v", err)
			return
		}
		c.follow(m, rec)
		intents = append(intents, m.Ready().Intents...)
		m.Advance()
	}
}

// next answers the first effect of a run; nil if there is none.
func next(m *machine.Machine) machine.Record {
	at := m.Now().Add(1)
	open := m.Open()
	if len(open) == 0 {
		return nil
	}
	e := open[0]
	switch e.Kind {
	case machine.EffectPerson:
		return machine.Replied{At: at, Reply: machine.Reply{WaitID: e.Wait.ID, Approve: true, Text: "yes"}}
	case machine.EffectTool:
		return e.Answered(nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, Output: "done"}}, at, 1)
	default:
		reply := llmclient.Response{Message: messages.AssistantText("It is done."), Usage: messages.Usage{Input: 1}}
		return e.Answered(nextstep.APIResponse{Response: &reply}, at, 1)
	}
}

// goOn makes a Machine that goes on from a snapshot, with as many records.
func (c *carried) goOn(m *machine.Machine, taken *machine.Snapshot) {
	text, err := machine.AppendSnapshot(nil, taken)
	rec := machine.Migrated{At: m.Now()}
	if err == nil {
		rec.Snapshot, err = machine.ReadSnapshot(text)
	}
	rec.Snapshot.Records--
	next := machine.New(c.w.machine())
	if err == nil {
		err = next.Apply(rec)
	}
	if err != nil {
		c.w.blame("the run cannot go on from a snapshot: %v", err)
		return
	}
	next.Advance()
	c.m, c.w.carries = next, true
}
