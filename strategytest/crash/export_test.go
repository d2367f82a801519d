package crash

import (
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// On returns the case on another store than checkpoint.Memory, made of one.
func (c Case) On(broken func(checkpoint.Store) checkpoint.Store) Case {
	c.broken = broken
	return c
}

// Every returns the case with one of n boundaries tried, and the others left out.
func (c Case) Every(n int) Case {
	c.every = n
	return c
}

// Law is a law of the kit.
type Law = law

// The laws.
const (
	Requests, End, Told, Stored, Once, Answered = lawRequests, lawEnd, lawTold, lawStored, lawOnce, lawAnswered
	Key, Journal, Kept, Frozen, GoesOn, Check   = lawKey, lawJournal, lawKept, lawFrozen, lawGoesOn, lawCheck
)

// Laws returns all laws.
func Laws() []Law {
	return []Law{Requests, End, Told, Stored, Once, Answered, Key, Journal, Kept, Frozen, GoesOn, Check}
}

// WithoutLaw returns the case without a law.
func (c Case) WithoutLaw(l Law) Case {
	c.off = l
	return c
}

// BeginsAgain returns the case with processes that seem to make each request anew that was
// answered.
func (c Case) BeginsAgain() Case {
	c.senses.effect = func(w *world, e *machine.Effect) {
		for name := range w.journal.answered {
			if frame, id, _ := strings.Cut(name, " "); frame == e.Frame && e.Safe() && w.journal.answered[name] {
				_ = e.ID.UnmarshalText([]byte(id))
			}
		}
	}
	return c
}

// StoresNoIntent returns the case with processes that seem not to have stored that a call begins.
func (c Case) StoresNoIntent() Case {
	c.senses.effect = func(_ *world, e *machine.Effect) { e.ID.Index += 100 }
	return c
}

// CallsTwice returns the case with processes that seem to make the first of several calls each
// time.
func (c Case) CallsTwice() Case {
	c.senses.effect = func(_ *world, e *machine.Effect) { e.Call.ID = "c1" }
	return c
}

// SkipsNumber returns the case with a store that seems to leave out number 3.
func (c Case) SkipsNumber() Case {
	c.senses.records = func(list []checkpoint.Record) {
		for i := range list {
			if list[i].Seq > 2 {
				list[i].Seq++
			}
		}
	}
	return c
}

// KeysOfItsOwn returns the case with processes that seem to draw an idempotency key for each call.
func (c Case) KeysOfItsOwn() Case {
	c.senses.key = func(w *world, key string) string { return key + strings.Repeat("'", len(w.passed)) }
	return c
}

// KnowsNoTakeover returns the case with processes that say of a run that was taken over that it
// failed.
func (c Case) KnowsNoTakeover() Case {
	c.senses.event = func(_ *world, e *machine.Event) {
		if d, ok := e.Detail.(machine.RunFinished); ok && d.Status == machine.StatusTakenOver {
			d.Status = machine.StatusFailed
			e.Detail = d
		}
	}
	return c
}
