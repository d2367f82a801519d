package strategytest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// Subject is a strategy to test against the contract.
type Subject struct {
	New      func() strategy.Strategy // a factory, as in a strategy.Set
	Input    delegation.Input         // without a goal and messages, the goal is "a task"
	Tools    []tools.Definition       // the run's tools
	Children []string                 // the strategies it may delegate to and the agents that it calls; they are answered, not run. Those that are left out are found
	Replies  []llmclient.Response     // more replies to try, such as one in the form that the strategy expects
	Failures []nextstep.Failure       // more failures to try, such as one that the strategy handles
	Steps    int                      // how many answers deep to explore; 0: as deep as 500 states reach

	Unreached []string // see explore.Options; "*": the strategy may be done at once, too

	// NoSnapshot says that Snapshot of a strategy.Snapshotter may return errors in this
	// configuration, such as for a State of package stepagent that has no JSON form.
	NoSnapshot bool
}

// Conform fails the test with everything that [Check] finds.
func Conform(t *testing.T, s Subject) {
	t.Helper()
	if err := Check(s); err != nil {
		t.Error(err)
	}
}

// Check explores the strategy as [Explore] does, with up to two odd answers on a path and a few
// hundred states, and holds it to the same laws: of the protocol, the table, histories and
// requests, snapshots, purity, limits and bounds. It also fails if nothing could be explored, and
// if a [strategy.Snapshotter] has no snapshot.
//
// It does so with Subject.Input. It also explores, less deeply, a conversation with a system
// prompt, tool calls and their results: once before the goal of Subject.Input, and once without a
// goal. Without a goal the messages define the task, so that the first step, if it is a request,
// contains the last user message.
//
// It returns the violations, joined, each with the shortest answers that lead to it.
func Check(s Subject) error {
	if s.New == nil {
		return errors.New("strategytest: Subject.New is nil")
	}
	if s.Input.Goal == "" && len(s.Input.Messages) == 0 {
		s.Input.Goal = "a task"
	}
	problems := s.check("", s.Input, s.Steps)
	for _, c := range conversations(s.Input) {
		if len(problems) > 0 {
			break
		}
		problems = s.check("given "+c.name+": ", c.in, min(2, cmp.Or(s.Steps, 2)))
	}
	return errors.Join(problems...)
}

// The bounds of an exploration.
const (
	mostOdd    = 2
	mostStates = 500
)

// check explores the strategy with an input, at most so many answers deep; 0 means any number.
func (s *Subject) check(about string, in delegation.Input, depth int) (problems []error) {
	report := func(problem string) { problems = append(problems, errors.New("strategytest: "+about+problem)) }
	o := explore.Options{
		Input: in, Tools: s.Tools, Children: s.Children, Strategies: s.successors(), World: s.world,
		Odd: mostOdd, Depth: depth, States: mostStates, Unreached: s.Unreached,
	}
	begun := false
	o.See = func(now *explore.State) {
		if problem := s.first(now, in); !begun && problem != "" {
			report(problem)
		}
		begun = true
		if problem := s.unkept(now); problem != "" && len(problems) == 0 {
			report(problem)
		}
	}
	r, err := explore.Run(s.New, o)
	if err != nil {
		report(err.Error())
		return problems
	}
	for i := range r.Violations {
		report(r.Violations[i].Error())
	}
	if r.Paths == 0 || r.Bounds == "" {
		if gap := r.Gap(); gap != "" {
			report(gap)
		}
	}
	return problems
}

// world answers with the Replies and the Failures.
func (s *Subject) world(e *machine.Effect) (list []explore.Reaction) {
	if e.Kind == machine.EffectModel {
		for i := range s.Replies {
			list = append(list, explore.Answer(fmt.Sprint("reply ", i), nextstep.APIResponse{Response: &s.Replies[i]}))
		}
	}
	if e.Kind == machine.EffectModel || e.Kind == machine.EffectRemote {
		for i, f := range s.Failures {
			list = append(list, explore.Answer(fmt.Sprint("failure ", i), f).AsOdd())
		}
	}
	return list
}

// ended is a strategy that is done at once, for those that the subject hands off to.
type ended struct{ strategy.Defaults }

// Initialize implements strategy.Strategy.
func (ended) Initialize(in delegation.Input) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Messages: in.Messages, Result: &in.Goal}}
}

// successors returns the strategies that the subject may hand off to, each done at once.
func (s *Subject) successors() strategy.Set {
	set := strategy.Set{}
	for _, name := range strategy.NamesOf(made(strategy.Set{"": s.New}, "")).Handoffs {
		set[name] = func() strategy.Strategy { return ended{} }
	}
	return set
}

// first returns the problem of a first request that does not contain the last user message of a
// conversation without a goal.
func (s *Subject) first(now *explore.State, in delegation.Input) string {
	if in.Goal != "" || len(now.Open()) == 0 {
		return ""
	}
	step, ok := now.Open()[0].Step.(nextstep.GetChatCompletion)
	said := func(m messages.Message) bool {
		u, ok := m.(messages.User)
		return ok && strings.Contains(u.Text(), lastSaid)
	}
	if !ok || !slices.ContainsFunc(in.Messages, said) || slices.ContainsFunc(step.Request.Messages, said) {
		return ""
	}
	return "its first request does not hold what the user said last: hand over what Input.Conversation returns"
}

// unkept returns the problem of a strategy that has no snapshot.
func (s *Subject) unkept(now *explore.State) (problem string) {
	kept, ok := now.Strategy("0").(strategy.Snapshotter)
	if !ok || s.NoSnapshot {
		return ""
	}
	defer func() { _ = recover() }() // a law says so
	if _, err := kept.Snapshot(); err != nil {
		return "it cannot be snapshot: " + err.Error()
	}
	return ""
}

// conversation is an input with messages, with a name for reports.
type conversation struct {
	name string
	in   delegation.Input
}

// lastSaid is the last user message of every conversation.
const lastSaid = "Tell me what the second look showed."

// conversations lists inputs with messages: with a conversation before the goal of an input, and
// without a goal.
func conversations(in delegation.Input) []conversation {
	looked := func(id, output string) []messages.Message {
		return []messages.Message{
			messages.Assistant{Content: []messages.AssistantContent{
				messages.Text{Text: "I look."}, messages.ToolCall{ID: id, Name: "look_before", Arguments: "{}"},
			}},
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "look_before", Status: messages.StatusOK, Output: output}},
		}
	}
	history := messages.History{messages.System{Text: "You are somebody else."}, messages.UserText("Look twice.")}
	history = append(history, looked("before_1", "red")...)
	history = append(history, looked("before_2", "blue")...)
	history = append(history, messages.AssistantText("I have looked twice."), messages.UserText(lastSaid))
	with, without := in, in
	with.Messages, without.Messages, without.Goal = history.Clip(), history.Clip(), ""
	if with.Goal == "" {
		with.Goal = "a task"
	}
	return []conversation{{"messages and a goal", with}, {"messages without a goal", without}}
}
