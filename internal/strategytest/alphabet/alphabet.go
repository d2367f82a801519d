// Package alphabet has what a model may answer in the protocols of the built-in strategies: plans,
// judgements of drafts and plans, turns of ReAct, decisions, goals for agents, searches for tools.
// It is for the World of explore.Options: without it the world answers with texts and calls that no
// protocol understands, and an exploration never comes behind the first plan.
//
// [For] chooses for a strategy and everything it uses. The others are joined with [Join]. An
// [Alphabet] returns the same reactions for the same effect. All of them may be called
// concurrently.
package alphabet

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// Alphabet returns what the world may do to an effect, besides what it always may; nil if that is
// nothing. It is a World of [explore.Options].
type Alphabet = func(e *machine.Effect) []explore.Reaction

// Join returns an alphabet of all reactions of some. If two reactions to an effect have one name,
// the first one counts.
func Join(all ...Alphabet) Alphabet {
	return func(e *machine.Effect) []explore.Reaction {
		var list []explore.Reaction
		for _, of := range all {
			for _, r := range of(e) {
				if !slices.ContainsFunc(list, func(known explore.Reaction) bool { return known.Name == r.Name }) {
					list = append(list, r)
				}
			}
		}
		return list
	}
}

// ofTable are the alphabets of the built-in strategies, by the names of their tables.
var ofTable = map[string]Alphabet{
	completetask.Name: Typed,
	reflection.Name:   Join(Judgements, Calls),
	react.Name:        ReAct,
	rao.Name:          Join(Decisions, Calls),
	pre.Name:          Join(Plans, Calls),
}

// For returns the alphabet of the strategy that the factory makes, with the Tools, Agents and
// Strategies of the Options: each frame is answered in the protocol of its strategy, if that is a
// built-in one, and otherwise with [Calls]; judges approve, and routers name each of the parts that
// they choose from; every agent is given goals, and the first few tools are searched for where that
// is offered. The factories are called at once, and not later.
func For(factory func() strategy.Strategy, o explore.Options) Alphabet {
	set := maps.Clone(o.Strategies)
	if set == nil {
		set = strategy.Set{}
	}
	set[explore.Subject] = factory
	of, tables, words := map[string]Alphabet{}, map[string]string{}, wordsOf(set, o.Agents)
	for name, factory := range set {
		of[name], tables[name] = ofStrategy(factory, o.Strategies), tableOf(factory())
	}
	var agents []string
	for name := range o.Agents {
		agents = append(agents, name)
	}
	slices.Sort(agents)
	goals := Goals(agents...)
	var names []string
	for _, d := range o.Tools {
		names = append(names, d.Name)
	}
	searches := Searches(names[:min(len(names), mostSearched)]...)
	known := &memo{lists: map[string][]explore.Reaction{}}
	return func(e *machine.Effect) []explore.Reaction {
		said := words.said(e, tables[e.Strategy])
		own, r := of[e.Strategy], requested(e)
		if own == nil || r == nil {
			return said
		}
		if list := Summaries(e); list != nil {
			return list
		}
		list := known.list(e.Strategy, r, func() []explore.Reaction { return slices.Concat(own(e), goals(e), searches(e)) })
		return append(slices.Clip(list), said...)
	}
}

// mostSearched is how many tools are searched for: more of a kind shows nothing new.
const mostSearched = 3

// memo keeps the reactions to requests of one run, in which tools of one name have one schema: an
// exploration asks for the same ones again and again.
type memo struct {
	mu    sync.Mutex
	lists map[string][]explore.Reaction
}

func (m *memo) list(name string, r *llmclient.Request, make func() []explore.Reaction) []explore.Reaction {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := append([]byte(name), '\n')
	key = strconv.AppendBool(key, r.Schema != nil)
	for i := range r.Tools {
		key = append(append(key, '\n'), r.Tools[i].Name...)
	}
	list, ok := m.lists[string(key)]
	if !ok {
		list = make()
		m.lists[string(key)] = list
	}
	return list
}

// ofStrategy returns the alphabet of one strategy, whose children may be in the set.
func ofStrategy(factory func() strategy.Strategy, set strategy.Set) Alphabet {
	st := factory()
	own := ofTable[tableOf(st)]
	if own == nil {
		return Calls
	}
	if tableOf(st) != pre.Name {
		return own
	}
	var executors []string
	for _, child := range strategy.NamesOf(st).Children {
		executors = append(executors, child)
		if factory := set[child]; factory != nil { // a configured plan may call it by the name of its kind
			executors = append(executors, tableOf(factory()))
		}
	}
	return Join(own, PlansFor(executors...))
}

// tableOf returns the name of the table of a strategy; "" if it has none.
func tableOf(st strategy.Strategy) string {
	t, ok := st.(strategy.Tabler)
	if !ok {
		return ""
	}
	return t.FSM().Table().Name
}

// Refusals are the failures of a server that does not know tool_choice, or response_format.
func Refusals(e *machine.Effect) []explore.Reaction {
	if requested(e) == nil {
		return nil
	}
	refuses := func(what string) explore.Reaction {
		return explore.Answer("refuses "+what, nextstep.Failure{
			Source: nextstep.SourceModel, Code: delegation.Code(llmclient.CodeBadRequest), Message: what + " is not supported",
		}).AsOdd()
	}
	return []explore.Reaction{refuses("tool_choice"), refuses("response_format")}
}

// Calls are calls of the offered tools, with the arguments for which the schemas of the tools ask.
// Without an alphabet each tool is called with no arguments. The tools of the protocols of built-in
// strategies are left out.
func Calls(e *machine.Effect) []explore.Reaction {
	r := requested(e)
	if r == nil || r.ToolFormat == llmclient.ToolsText {
		return nil
	}
	var list []explore.Reaction
	for _, d := range r.Tools {
		if slices.Contains(control, d.Name) {
			continue
		}
		if arguments := sample(d.Parameters); arguments != noArguments {
			list = append(list, calls("call "+d.Name+" with arguments", d.Name, arguments))
		}
	}
	return list
}

// control are the tools of protocols.
var control = []string{pre.SubmitPlan, pre.SubmitEvaluation, decideNext, observeDecide}

// Goals gives each of these agents that is offered a goal.
func Goals(agents ...string) Alphabet { return goals("gives %s a goal", `{"goal":"north"}`, agents) }

// SeveralGoals gives each of these agents that is offered two goals at once, see FanOut of
// orchestrator.Agent.
func SeveralGoals(agents ...string) Alphabet {
	return goals("gives %s two goals", `{"goals":["north","south"]}`, agents)
}

func goals(name, arguments string, agents []string) Alphabet {
	return func(e *machine.Effect) []explore.Reaction {
		var list []explore.Reaction
		for _, agent := range agents {
			if offers(e, agent) {
				list = append(list, calls(strings.ReplaceAll(name, "%s", agent), agent, arguments))
			}
		}
		return list
	}
}

// requested returns the request of a model; nil if the effect is none.
func requested(e *machine.Effect) *llmclient.Request {
	if e.Kind != machine.EffectModel {
		return nil
	}
	ask, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return nil
	}
	return &ask.Request
}

// offers reports whether a request offers a tool.
func offers(e *machine.Effect, tool string) bool {
	r := requested(e)
	return r != nil && slices.ContainsFunc(r.Tools, func(d tools.Definition) bool { return d.Name == tool })
}

// calls returns a reply that calls a tool.
func calls(name, tool, arguments string) explore.Reaction {
	return explore.Reply(name, llmclient.FinishToolCalls, messages.ToolCall{ID: "control", Name: tool, Arguments: arguments})
}

// says returns a reply with a text.
func says(name, text string) explore.Reaction {
	return explore.Reply(name, llmclient.FinishStop, messages.Text{Text: text})
}
