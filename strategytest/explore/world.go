package explore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// Reaction is something that the world can do to an effect: one record. [Reply] and [Answer] make
// the usual ones. What follows from the effect, such as the id of a call, is filled in where the
// record lacks it.
type Reaction struct {
	Name   string // for reports and paths; unique among the reactions to an effect
	Record func(e *machine.Effect) machine.Record
	Odd    bool // a run that goes well does not meet it; see Options.Odd

	own bool // one of Options.World
}

// AsOdd returns the reaction as an odd one.
func (r Reaction) AsOdd() Reaction {
	r.Odd = true
	return r
}

// Answer returns a reaction that answers an effect.
func Answer(name string, a nextstep.Answer) Reaction {
	return Reaction{Name: name, Record: func(e *machine.Effect) machine.Record { return e.Answered(a, time.Time{}, 0) }}
}

// Reply returns a reaction of a model: a reply of these parts.
func Reply(name string, finish llmclient.FinishReason, parts ...messages.AssistantContent) Reaction {
	return Reaction{Name: name, Record: func(e *machine.Effect) machine.Record {
		return e.Answered(nextstep.APIResponse{Response: &llmclient.Response{
			Message: messages.Assistant{Content: slices.Clone(parts)}, Finish: finish,
			Usage: messages.Usage{Input: 3, Output: 2, Total: 5},
		}}, time.Time{}, 0)
	}}
}

// whatever lists the reactions that are possible in every state.
var whatever = []Reaction{
	{Name: "stop", Odd: true, Record: func(*machine.Effect) machine.Record { return machine.Stopped{Reason: "stop"} }},
	{Name: "stop now", Odd: true, Record: func(*machine.Effect) machine.Record { return machine.Stopped{Reason: "stop now", Now: true} }},
	{Name: "crash", Odd: true, Record: func(*machine.Effect) machine.Record { return machine.Resumed{} }},
	{Name: "crash, unknown is told", Odd: true, Record: func(*machine.Effect) machine.Record { return machine.Resumed{Unknown: machine.UnknownTell} }},
	{Name: noteReaction, Record: func(*machine.Effect) machine.Record { return machine.Noted{Text: "a note"} }},
}

// notBegun is a further reaction to an effect whose frame must end.
var notBegun = Reaction{Name: "not begun", Record: func(e *machine.Effect) machine.Record {
	a := e.Answered(nil, time.Time{}, 0)
	a.NotBegun = true
	return a
}}

// world makes the reactions to effects.
type world struct {
	more    func(e *machine.Effect) []Reaction
	without func(e *machine.Effect, reaction string) bool
	models  map[string][]Reaction // by the names of the offered tools
	offered []byte                // those names, for the next look into models
	tools   map[toolKind][]Reaction
	persons map[personKind][]Reaction
	ended   map[*Reaction][]Reaction // the same lists with notBegun, by their first reactions
	whole   []Reaction
	wrong   error // what is wrong with a reaction of more
}

// always returns the reactions that are possible in every state.
func (w *world) always() []Reaction {
	if w.whole == nil {
		w.whole = w.kept(nil, whatever)
	}
	return w.whole
}

// reactions returns the possible reactions to an effect, always in the same order.
func (w *world) reactions(e *machine.Effect, ending bool) []Reaction {
	var list []Reaction
	switch e.Kind {
	case machine.EffectModel:
		list = w.ofModel(e.Step.(nextstep.GetChatCompletion).Request.Tools)
	case machine.EffectTool:
		list = w.ofTool(e)
	case machine.EffectRemote:
		list = ofChild
	case machine.EffectPerson:
		list = w.ofPerson(e.Wait)
	}
	if w.more != nil {
		list = w.join(list, e)
	}
	if ending && e.Kind != machine.EffectPerson {
		list = w.unbegun(list)
	}
	return w.kept(e, list)
}

// join appends the valid reactions of Options.World, and notes the first mistake in the others.
func (w *world) join(list []Reaction, e *machine.Effect) []Reaction {
	list = slices.Clip(list)
	for _, r := range w.more(e) {
		wrong := ""
		switch {
		case r.Name == "":
			wrong = fmt.Sprintf("a reaction to a %s has no name", e.Kind)
		case r.Record == nil:
			wrong = fmt.Sprintf("the reaction %q to a %s makes no record: Record is nil", r.Name, e.Kind)
		case slices.ContainsFunc(list, func(other Reaction) bool { return other.Name == r.Name }):
			wrong = fmt.Sprintf("two reactions to a %s are called %q", e.Kind, r.Name)
		}
		if r.own = true; wrong == "" {
			list = append(list, r)
		} else if w.wrong == nil {
			w.wrong = errors.New("explore: Options.World: " + wrong)
		}
	}
	return list
}

// refused notes that a reaction of Options.World does not fit its effect.
func (w *world) refused(x *exploration, r *Reaction, err error) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf("explore: Options.World: the reaction %q does not fit a %s: %w", r.Name, x.run.answers.Kind, err)
	}
}

// unbegun returns a list with notBegun at its end.
func (w *world) unbegun(list []Reaction) []Reaction {
	if w.more != nil || len(list) == 0 {
		return append(slices.Clip(list), notBegun)
	}
	if w.ended == nil {
		w.ended = map[*Reaction][]Reaction{}
	}
	longer, known := w.ended[&list[0]] // each of these lists is made once
	if !known {
		longer = append(slices.Clip(list), notBegun)
		w.ended[&list[0]] = longer
	}
	return longer
}

// kept returns the reactions that Options.Without does not leave out.
func (w *world) kept(e *machine.Effect, list []Reaction) []Reaction {
	if w.without == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(r Reaction) bool { return w.without(e, r.Name) })
}
