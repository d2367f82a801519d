package explore_test

import (
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategytest/explore"
)

// ghost is an effect that no Machine would hand over.
var ghost = machine.Effect{ID: machine.EffectID{Seq: 99}, Kind: machine.EffectPerson, Wait: &machine.Wait{ID: "ghost"}}

// haunted changes what the Machine hands over. Nothing can be done to a ghost, and some
// reactions there never are.
func haunted(with func(*machine.Machine, *machine.Ready), never ...string) func(*explore.Options) {
	return func(o *explore.Options) {
		*o = o.Tampered(with)
		without := o.Without
		o.Without = func(e *machine.Effect, reaction string) bool {
			return e != nil && e.ID == ghost.ID || slices.Contains(never, reaction) || without(e, reaction)
		}
	}
}

// brokenMachines are sound strategies, in a Machine or a world that is not.
var brokenMachines = []broken{
	{name: "a Machine that forgets what it has started", law: explore.Stuck, world: haunted(func(_ *machine.Machine, r *machine.Ready) {
		r.Effects = slices.DeleteFunc(slices.Clone(r.Effects), func(e machine.Effect) bool { return e.Kind == machine.EffectTool })
	})},
	{name: "a Machine that ends over an effect", law: explore.Open, world: haunted(func(m *machine.Machine, r *machine.Ready) {
		if m.Status() == machine.StatusFailed {
			r.Effects = append(slices.Clone(r.Effects), ghost)
		}
	}, "stop")},
	{name: "a Machine that starts something after a stop", law: explore.NoStart, world: haunted(func(m *machine.Machine, r *machine.Ready) {
		if frames := m.Frames(); len(frames) > 0 && frames[0].Ending != "" {
			r.Effects = append(slices.Clone(r.Effects), ghost)
		}
		if m.Done() {
			r.Withdrawn = append(slices.Clone(r.Withdrawn), ghost.ID)
		}
	})},
	{name: "a Machine that does not say that nobody has heard a note", law: explore.Notes, world: func(o *explore.Options) {
		haunted(func(_ *machine.Machine, r *machine.Ready) {
			r.Events = slices.DeleteFunc(slices.Clone(r.Events), func(e machine.Event) bool { return e.Kind == machine.EventNoteUnheard })
		})(o)
		without := o.Without
		o.Notes = 1
		o.Without = func(e *machine.Effect, reaction string) bool { return reaction != "note" && without(e, reaction) }
	}},
	{name: "a Machine that hands over a call under another name", law: explore.Taken, world: haunted(func(_ *machine.Machine, r *machine.Ready) {
		r.Effects = slices.Clone(r.Effects)
		for i := range r.Effects {
			if r.Effects[i].Kind == machine.EffectTool {
				r.Effects[i].Call.Name += " too"
			}
		}
	})},
}
