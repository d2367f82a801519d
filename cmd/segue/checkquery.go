package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// queryWords is the language of the queries of segue check, for people.
const queryWords = `  calls:TOOL         a call of the tool, or of the agent, is in progress
  approved:TOOL      a call of the tool is in progress that a person has approved
  unapproved:TOOL    a call of the tool is in progress that nobody has approved
  asks:TOOL          a person is asked to approve a call of the tool or agent
  state:AGENT/STATE  an agent at work is in a state of its strategy; segue graph
                     shows the states
  done               the run has ended well
  failed             it has ended by a failure or a limit
  stopped            it has ended because it was stopped
  ended              it has ended in whatever way`

// queried knows what queries may name.
type queried struct {
	tools  []tools.Definition
	agents map[string]*machine.Agent // those among the tools
	set    strategy.Set              // the strategies of the agents, by name
}

// queries reads the queries of the flags.
func (q *queried) queries(f *checkFlags) (all []explore.Query, err error) {
	for _, text := range f.never {
		p, err := q.predicate(text)
		if err != nil {
			return nil, fmt.Errorf("--never %s: %w", plaintext.Visible(text), err)
		}
		all = append(all, asWritten(explore.Never(p), text))
	}
	for _, text := range f.canReach {
		p, err := q.predicate(text)
		if err != nil {
			return nil, fmt.Errorf("--can-reach %s: %w", plaintext.Visible(text), err)
		}
		all = append(all, asWritten(explore.CanReach(p), text))
	}
	for _, text := range f.leads {
		query, err := q.leads(text)
		if err != nil {
			return nil, fmt.Errorf("--leads %s: %w", plaintext.Visible(text), err)
		}
		all = append(all, query)
	}
	return all, nil
}

func asWritten(q explore.Query, text string) explore.Query {
	q.Name = text
	return q
}

// leads reads FIRST,LATER.
func (q *queried) leads(text string) (explore.Query, error) {
	from, to, both := strings.Cut(text, ",")
	if !both {
		return explore.Query{}, errors.New("it is FIRST,LATER, such as calls:write_file,ended")
	}
	first, err := q.predicate(from)
	if err != nil {
		return explore.Query{}, err
	}
	later, err := q.predicate(to)
	return asWritten(explore.Leads(first, later), text), err
}

// predicate reads one thing that can hold, or several of which one must, with "|" between them.
func (q *queried) predicate(text string) (explore.Predicate, error) {
	var any []explore.Predicate
	for part := range strings.SplitSeq(text, "|") {
		p, err := q.one(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		any = append(any, p)
	}
	return explore.Any(any...), nil
}

// ends are the words about the end of a run.
var ends = map[string]explore.Predicate{"done": explore.Done, "failed": explore.Failed, "stopped": explore.Stopped, "ended": explore.Ended}

// ofTool are the words about calls of a tool.
var ofTool = map[string]func(tool string) explore.Predicate{
	"calls":      explore.Calls,
	"approved":   explore.CallsApproved,
	"unapproved": explore.CallsUnapproved,
	"asks":       func(tool string) explore.Predicate { return explore.Asks(machine.WaitApproval, tool) },
}

func (q *queried) one(text string) (explore.Predicate, error) {
	word, of, hasColon := strings.Cut(text, ":")
	switch {
	case !hasColon && ends[word] != nil:
		return ends[word], nil
	case hasColon && word == "state":
		return q.state(of)
	case hasColon && ofTool[word] != nil:
		return q.about(word, of)
	}
	known := slices.Concat(slices.Sorted(maps.Keys(ends)), slices.Sorted(maps.Keys(ofTool)), []string{"state"})
	return nil, fmt.Errorf("%q says nothing that can be checked%s; see segue check --help", plaintext.Visible(text), similar.Aside(word, known))
}

// about reads what is said of a tool.
func (q *queried) about(word, tool string) (explore.Predicate, error) {
	var names []string
	for i := range q.tools {
		names = append(names, q.tools[i].Name)
	}
	if !slices.Contains(names, tool) {
		there := "the run has none"
		if len(names) > 0 {
			there = "there are: " + strings.Join(names, ", ")
		}
		if slices.ContainsFunc(workfolder.Described(), func(t tools.Tool) bool { return t.Definition().Name == tool }) {
			there += "; those for files are there with --dir"
		}
		return nil, fmt.Errorf("no tool %q%s; %s", plaintext.Visible(tool), similar.Aside(tool, names), there)
	}
	if q.agents[tool] != nil && strings.HasSuffix(word, "approved") {
		return nil, fmt.Errorf("%s is an agent: say calls:%s or asks:%s", tool, tool, tool)
	}
	return ofTool[word](tool), nil
}

// state reads AGENT/STATE. The name of a strategy may have a "/", a state has none.
func (q *queried) state(text string) (explore.Predicate, error) {
	at := strings.LastIndex(text, "/")
	if at < 0 {
		return nil, fmt.Errorf("a state is AGENT/STATE, as segue graph shows the states, and the agent is one of: %s", strings.Join(q.set.Names(), ", "))
	}
	name, state := text[:at], text[at+1:]
	if q.set[name] == nil {
		return nil, fmt.Errorf("no agent or strategy %q%s; the run has: %s",
			plaintext.Visible(name), similar.Aside(name, q.set.Names()), strings.Join(q.set.Names(), ", "))
	}
	table := q.table(name)
	if table == nil {
		return nil, fmt.Errorf("%s has no states that are declared", name)
	}
	var states []string
	for _, s := range table.States {
		if s.Awaits != 0 && s.Awaits != nextstep.KindComplete && s.Awaits != nextstep.KindReportError {
			states = append(states, string(s.Name)) // in the others it is not at work
		}
	}
	if !slices.Contains(states, state) {
		return nil, fmt.Errorf("%s is never at work in a state %q%s; it is in: %s",
			name, plaintext.Visible(state), similar.Aside(state, states), strings.Join(states, ", "))
	}
	return explore.InState(name, strategy.State(state)), nil
}

// table returns the table of a strategy; nil if it has none.
func (q *queried) table(name string) *strategy.Table {
	t, ok := q.set[name]().(strategy.Tabler)
	if !ok {
		return nil
	}
	return t.FSM().Table()
}
