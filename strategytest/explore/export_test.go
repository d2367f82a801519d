package explore

import (
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// WithoutLaw returns the options for an exploration that does not check a law.
func (o Options) WithoutLaw(name string) Options {
	o.off = name
	return o
}

// Tampered returns the options for a Machine that hands over something else than it should.
func (o Options) Tampered(with func(*machine.Machine, *machine.Ready)) Options {
	o.tamper = with
	return o
}

// The names of the laws.
const (
	Taken, Protocol, NoStart, StoppedRun, Stuck, Open, Awaits = lawTaken, lawProtocol, lawNoStart, lawStopped, lawStuck, lawOpen, lawAwaits
	Request, Output, JSON, Limits, Moves, Ends, Lost          = lawRequest, lawOutput, lawJSON, lawLimits, lawMoves, lawEnds, lawLost
	Edited, Aside, Turn, Kept, Given, Tools, New              = lawEdited, lawAside, lawTurn, lawKept, lawGiven, lawTools, lawNew
	Taint, Allowed, Refused, Prefix                           = lawTaint, lawAllowed, lawRefused, lawPrefix
	Notes, Place, Handed, Bounds                              = lawNotes, lawPlace, lawHanded, lawBounds
	Restored, Same, Decoded, Scribbled                        = lawRestored, lawSame, lawDecoded, lawScribbled
)

// Laws returns the names of all laws.
func Laws() []string {
	return slices.Clone([]string{
		Taken, Protocol, NoStart, StoppedRun, Stuck, Open, Awaits, Request, Output, JSON, Limits, Moves, Ends, Lost,
		Edited, Aside, Turn, Kept, Given, Tools, New, Restored, Same, Decoded, Scribbled,
		Taint, Allowed, Refused, Prefix, Notes, Place, Handed, Bounds,
	})
}

// Shrink shrinks a path that breaks a law, as Run does.
func Shrink(factory func() strategy.Strategy, o Options, path []string) []string {
	x := newExploration(factory, o)
	law := x.walked(path, nil).law
	if law == "" {
		return path
	}
	return x.shrinkViolation(path, law)
}
