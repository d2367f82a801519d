// Package runview says what the journal of a run holds, for people: it needs neither the strategies
// of the run nor its configuration.
package runview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// View is what the journal of a run holds.
type View struct {
	Started  machine.Started
	Frames   []Frame // in the order of the tree
	Entries  []Entry
	Waits    []machine.Wait // what the run waits for; one whose question is not known has no Text
	Posted   []Posted       // messages that the run has not taken yet
	Usage    messages.Usage
	Cost     messages.Cost
	Unpriced int           // requests to models without a price
	Elapsed  time.Duration // of all models and tools together
	LastText string        // the last text that a model wrote; "": none
}

// Frame is a place in the tree of strategies, with what was done there, and not below.
type Frame struct {
	Name       string
	Depth      int
	ModelCalls int
	ToolCalls  int
	Usage      messages.Usage
	Cost       messages.Cost
	Unpriced   int // requests to models without a price
}

// Entry is a record.
type Entry struct {
	Record int
	Type   string
	At     time.Time
	Frame  string // "" if it is about the whole run
	Step   int    // 0 if it is about no step
	What   machine.Record
}

// Read reads a run.
func Read(ctx context.Context, store checkpoint.Store, head checkpoint.Head) (*View, error) {
	v := &View{}
	frames := map[string]*Frame{}
	known := newWaits(head.Key.Run)
	for stored, err := range store.Read(ctx, head.Key, 1) {
		if err != nil {
			return nil, err
		}
		rec, err := machine.ReadRecord(stored.Data)
		if err != nil {
			return nil, fmt.Errorf("record %d of run %s: %w", stored.Seq, head.Key.Run, err)
		}
		e := Entry{Record: stored.Seq, Type: machine.TypeOf(rec), What: rec}
		v.add(&e, frames, known)
		v.Entries = append(v.Entries, e)
	}
	for _, f := range frames {
		v.Frames = append(v.Frames, *f)
	}
	slices.SortFunc(v.Frames, func(a, b Frame) int { return byPlace(a.Name, b.Name) })
	v.Waits = known.of(head.Header.Waits)
	var err error
	v.Posted, err = posted(ctx, store, head.Key)
	return v, err
}

// Begin returns the first record of a run.
func Begin(ctx context.Context, store checkpoint.Store, key checkpoint.Key) (machine.Started, error) {
	for stored, err := range store.Read(ctx, key, 1) {
		if err != nil {
			return machine.Started{}, err
		}
		rec, err := machine.ReadRecord(stored.Data)
		if err != nil {
			return machine.Started{}, fmt.Errorf("the first record of run %s: %w", key.Run, err)
		}
		s, _ := rec.(machine.Started)
		return s, nil
	}
	return machine.Started{}, &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
}

// add counts a record, and fills in where and when it was.
func (v *View) add(e *Entry, frames map[string]*Frame, known *waits) {
	switch r := e.What.(type) {
	case machine.Started:
		e.At, v.Started = r.At, r
		at(frames, "0")
	case machine.Resumed:
		e.At = r.At
	case machine.Intended:
		e.At, e.Frame, e.Step = r.At, r.Frame, r.Effect.Seq
		known.intended(r)
	case machine.Answered:
		e.At, e.Frame, e.Step = r.At, r.Frame, r.Effect.Seq
		v.answered(r, at(frames, r.Frame), known)
	case machine.Asked:
		e.At, e.Frame, e.Step = r.At, r.Wait.Frame, r.Effect.Seq
		known.add(r.Wait)
	case machine.Suspended:
		e.At, e.Step = r.At, r.Effect.Seq
		known.add(r.Waits...)
		if len(r.Waits) > 0 {
			e.Frame = r.Waits[0].Frame
		}
	case machine.Replied:
		e.At = r.At
		if w, ok := known.known[r.Reply.WaitID]; ok {
			e.Frame, e.Step = w.Frame, w.Seq
		}
	case machine.Noted:
		e.At = r.At
	case machine.Stopped:
		e.At, e.Frame = r.At, r.Frame
	case machine.Migrated:
		e.At = r.At
	}
}

// answered counts an answer.
func (v *View) answered(r machine.Answered, f *Frame, known *waits) {
	used, cost, unpriced := messages.Usage{}, r.Cost, r.Unpriced
	switch a := r.Answer.(type) {
	case nextstep.APIResponse:
		used = usageOf(a.Response.Usage, a.Response.Attempts)
		f.ModelCalls++
		v.LastText = cmp.Or(a.Response.Message.Text(), v.LastText)
		known.calls[r.Frame] = a.Response.Message.Calls()
	case nextstep.ToolResult:
		f.ToolCalls++
		known.read = true
	case nextstep.DelegationResult:
		used, cost, unpriced = a.Output.Usage, a.Output.Cost, a.Output.Unpriced
	case nextstep.Failure:
		used = usageOf(a.Usage, a.Attempts)
	}
	v.Elapsed += r.Elapsed
	v.Usage, v.Cost, v.Unpriced = v.Usage.Add(used), v.Cost.Add(cost), v.Unpriced+unpriced
	f.Usage, f.Cost, f.Unpriced = f.Usage.Add(used), f.Cost.Add(cost), f.Unpriced+unpriced
}

// usageOf adds up what a request has used, with the attempts before it.
func usageOf(u messages.Usage, attempts []llmclient.Attempt) messages.Usage {
	for _, attempt := range attempts {
		u = u.Add(attempt.Usage)
	}
	return u
}

// at returns the frame with a name.
func at(frames map[string]*Frame, name string) *Frame {
	f, ok := frames[name]
	if !ok {
		f = &Frame{Name: name, Depth: 1 + strings.Count(name, ".")}
		frames[name] = f
	}
	return f
}

// byPlace orders the names of frames: each before those below it, and these by number.
func byPlace(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		return strings.Compare(x, y)
	})
}
