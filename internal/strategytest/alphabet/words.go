package alphabet

import (
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/react"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategytest/explore"
)

// The words and triggers of judges and routers, see planreviseexecute.Config.Reviewer,
// workflow.LoopConfig.Judge and workflow.ChooseConfig.Router. A judge that says anything else has
// not approved.
const (
	approval = "APPROVED"
	rejected = strategy.Trigger("rejected")
	chose    = "chose_" // and the state of the part
)

// words are what strategies look for in the answers of their children, by the names of these: of a
// judge its approval, of a router the names of the parts. Who works for a judge says the same.
type words map[string][]string

// wordsOf returns the words for the children of a set of strategies, and for agents.
func wordsOf(set strategy.Set, agents map[string]*machine.Agent) words {
	all := words{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		st := set[name]()
		t, tabled := st.(strategy.Tabler)
		b, bounded := st.(strategy.Bounder)
		if !tabled || !bounded {
			continue
		}
		children := b.Bounds().Children
		for _, r := range t.FSM().Table().Rules {
			word, routed := strings.CutPrefix(string(r.On), chose)
			if r.On == rejected {
				word = approval
			} else if !routed {
				continue
			}
			for _, from := range r.From {
				for _, child := range append(slices.Clip(children[from]), called(t, from, agents)...) {
					all.add(set, child.Strategy, word)
				}
			}
		}
	}
	return all
}

// called returns the agents that a strategy may call in a state.
func called(st strategy.Tabler, in strategy.State, agents map[string]*machine.Agent) (list []strategy.Child) {
	for _, s := range st.FSM().Table().States {
		if s.Name != in || s.Awaits != nextstep.KindExecuteTools {
			continue
		}
		for _, tool := range strategy.NamesOf(st.(strategy.Strategy)).Tools {
			if a := agents[tool]; a != nil {
				list = append(list, strategy.Child{Strategy: a.Strategy})
			}
		}
	}
	return list
}

// add has a strategy, and everything that works for it, say a word.
func (w words) add(set strategy.Set, name, word string) {
	if slices.Contains(w[name], word) {
		return
	}
	w[name] = append(w[name], word)
	if factory := set[name]; factory != nil {
		for _, child := range strategy.NamesOf(factory()).Children {
			w.add(set, child, word)
		}
	}
}

// said returns the reactions to an effect that say the words of its strategy, or of the remote
// child, each in the protocol of the table.
func (w words) said(e *machine.Effect, table string) (list []explore.Reaction) {
	if d, ok := e.Step.(nextstep.Delegate); ok && e.Kind == machine.EffectRemote {
		for _, word := range w[d.Strategy] {
			word = spelled(word, d.Input.Goal)
			list = append(list, explore.Answer("says "+word, nextstep.DelegationResult{Output: delegation.Output{Result: &word}}))
		}
		return list
	}
	r := requested(e)
	if r == nil {
		return nil
	}
	for _, word := range w[e.Strategy] {
		word = spelled(word, textOf(r))
		name, text := "says "+word, word
		switch {
		case table == react.Name:
			text = "Thought: I know.\nFinal Answer: " + word
		case table == rao.Name:
			if offers(e, decideNext) {
				list = append(list, calls(name, decideNext, `{"finish":true,"final_answer":"`+word+`"}`))
			}
			continue
		case r.Schema != nil && word == approval:
			text = `{"approved":true}`
		case r.Schema != nil:
			text = `{"choice":"` + word + `"}`
		}
		list = append(list, says(name, text))
	}
	return list
}

// spelled returns the name of a part as the text has it: its state has "_" for "-".
func spelled(state, text string) string {
	if !strings.Contains(state, "_") {
		return state
	}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n:,.;", c) }) {
		if strings.ReplaceAll(word, "-", "_") == state {
			return word
		}
	}
	return state
}

// textOf returns what users say in a request.
func textOf(r *llmclient.Request) string {
	var all strings.Builder
	for _, m := range r.Messages {
		if u, ok := m.(messages.User); ok {
			all.WriteString(u.Text() + "\n")
		}
	}
	return all.String()
}
