package segue

import (
	"context"
	"iter"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// Session is a conversation with an agent that a store keeps, turn by turn: each turn is a run of
// its own, and begins with what the last one has left, in whatever process. Make one with
// [Agent.Session]. It holds nothing itself, and is safe for concurrent use; two turns at once are
// not: the second is an [*orchestrator.RunExistsError].
type Session struct {
	agent *Agent

	Name      string
	Namespace string // whose it is, such as a tenant; set it before the first turn
}

// Session is the conversation of that name in the store of the agent: that of the Config that
// Configure sets. One that there is not begins with its first turn.
//
// Below it: [orchestrator.Task.Session].
func (a *Agent) Session(name string) *Session { return &Session{agent: a, Name: name} }

func (s *Session) task(text string) orchestrator.Task {
	return orchestrator.Task{Session: s.Name, Namespace: s.Namespace, Input: delegation.Input{Goal: text}}
}

// Ask is [Agent.Ask] with all that was said before. Whatever becomes of a turn stays in the
// conversation, that it waits for somebody included.
func (s *Session) Ask(ctx context.Context, text string) (string, error) {
	o, err := s.agent.Orchestrator()
	if err != nil {
		return "", err
	}
	res, err := o.Run(ctx, s.task(text))
	return res.Output.Text(), unlessWaiting(res, err)
}

// Stream is [Agent.Stream] with all that was said before. Of a turn that is broken out of, what was
// stored by then stays in the conversation.
func (s *Session) Stream(ctx context.Context, text string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		o, err := s.agent.Orchestrator()
		if err != nil {
			yield("", err)
			return
		}
		texts(o.Stream(ctx, s.task(text)), yield)
	}
}

// texts yields the model's text of a run, as [Agent.Stream] does.
func texts(events iter.Seq2[orchestrator.Event, error], yield func(string, error) bool) {
	branches := map[string]bool{}
	for e, err := range events {
		switch d := e.Detail.(type) {
		case orchestrator.FrameEntered:
			branches[e.Frame] = d.CallID != "" || branches[parent(e.Frame)]
		case orchestrator.RunFinished:
			err = unlessWaiting(orchestrator.Result{Run: e.Run, Status: d.Status, Waits: d.Waits}, err)
		}
		if err != nil {
			yield("", err)
			return
		}
		if e.Kind == orchestrator.EventTextDelta && !branches[e.Frame] && !yield(e.Text, nil) {
			return
		}
	}
}

// History is the conversation so far, as [orchestrator.Orchestrator.History] returns it.
func (s *Session) History(ctx context.Context) (messages.History, error) {
	o, err := s.agent.Orchestrator()
	if err != nil {
		return nil, err
	}
	return o.History(ctx, s.Namespace, s.Name)
}
