package segue

import (
	"context"
	"iter"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// Session is a conversation with an agent that is kept in a store, turn by turn. Each turn is a run
// of its own, in any process, and starts with the history of the turn before. [Agent.Session]
// returns one. A Session has no state of its own, and is safe for concurrent use; but of two turns
// at the same time the second fails with an [*orchestrator.RunExistsError].
type Session struct {
	agent *Agent

	Name      string
	Namespace string // whose it is, such as a tenant; set it before the first turn
}

// Session returns the conversation with that name in the store of the agent, which Configure sets.
// A new conversation begins with its first turn.
//
// The lower-level API is [orchestrator.Task.Session].
func (a *Agent) Session(name string) *Session { return &Session{agent: a, Name: name} }

func (s *Session) task(text string) orchestrator.Task {
	return orchestrator.Task{Session: s.Name, Namespace: s.Namespace, Input: delegation.Input{Goal: text}}
}

// Ask is [Agent.Ask] with the conversation so far. The conversation keeps every turn, also one that
// fails or waits.
func (s *Session) Ask(ctx context.Context, text string) (string, error) {
	o, err := s.agent.Orchestrator()
	if err != nil {
		return "", err
	}
	return answer(o.Run(ctx, s.task(text)))
}

// Stream is [Agent.Stream] with the conversation so far. If the caller breaks out of a turn, the
// conversation keeps what was stored until then.
func (s *Session) Stream(ctx context.Context, text string) iter.Seq2[string, error] {
	return s.agent.stream(ctx, s.task(text), nil)
}

// Answered returns the strategy that has answered last, see [orchestrator.Conversation]: after a
// handoff its successor, with which the next turn begins. Before the first turn it is "".
func (s *Session) Answered(ctx context.Context) (string, error) {
	o, err := s.agent.Orchestrator()
	if err != nil {
		return "", err
	}
	c, err := o.Conversation(ctx, s.Namespace, s.Name)
	return c.Strategy, err
}

// History returns the conversation so far, see [orchestrator.Orchestrator.History].
func (s *Session) History(ctx context.Context) (messages.History, error) {
	o, err := s.agent.Orchestrator()
	if err != nil {
		return nil, err
	}
	return o.History(ctx, s.Namespace, s.Name)
}
