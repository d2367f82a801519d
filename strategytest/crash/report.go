package crash

import (
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
)

// Report says what was tried.
type Report struct {
	Status     machine.Status    // how the run ends
	Output     delegation.Output // what it comes to
	Boundaries int               // of the run that is not cut off
	Cuts       int               // runs that were cut off once
	Denied     int               // those of them that were made once more, with a person who denies that a call is made again
	Frozen     int               // runs whose process was frozen, and woken when another one had ended the run
	Pairs      int               // runs that were cut off a second time, as they went on
	AllPairs   int               // how many such runs there are; if more than Pairs, those were drawn by Seed
	Seed       uint64            // of the Case
	Kinds      []Tried           // the same by the kind of the first boundary, in the order in which the run comes to them
	Problems   []Problem         // none: all is as it should be. No more than 10 are looked for
}

// The kinds of boundaries.
const (
	kindLease   = "lease"
	kindAppend  = "append"
	kindRequest = "request" // to a model
	kindCall    = "call"    // of a tool
	kindKeep    = "keep"    // a large result is kept
	kindReply   = "reply"   // of a person
	kindEvent   = "event"
)

// Tried says what was tried at the boundaries of a kind.
type Tried struct {
	Kind       string // lease, append, request, call (of a tool), keep (of a large result), reply or event
	Boundaries int    // of the run that is not cut off
	Cuts       int    // runs that were cut off there
	Frozen     int    // runs whose process was frozen there
	Pairs      int    // runs that were cut off there, and a second time
}

// Problem is a run that is not as the one that is not cut off.
type Problem struct {
	Where string // at which boundaries the run was cut off
	What  string // what is wrong, expected and actual on lines of their own
}

// String says what was tried, and what is wrong.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d boundaries: %d runs cut off once, %d of them again with no call made twice, %d frozen, ", r.Boundaries, r.Cuts, r.Denied, r.Frozen)
	if r.Pairs < r.AllPairs {
		fmt.Fprintf(&b, "%d of %d runs cut off twice (seed %d)", r.Pairs, r.AllPairs, r.Seed)
	} else {
		fmt.Fprintf(&b, "all %d runs cut off twice", r.Pairs)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n%s: %s", p.Where, p.What)
	}
	return b.String()
}

// tried returns what was tried at the boundaries of a kind.
func (r *Report) tried(kind string) *Tried {
	i := slices.IndexFunc(r.Kinds, func(t Tried) bool { return t.Kind == kind })
	if i < 0 {
		i = len(r.Kinds)
		r.Kinds = append(r.Kinds, Tried{Kind: kind})
	}
	return &r.Kinds[i]
}

// kindOf returns the kind of the boundaries of an effect.
func kindOf(e *machine.Effect) string {
	if e.Kind == machine.EffectModel {
		return kindRequest
	}
	return kindCall
}
