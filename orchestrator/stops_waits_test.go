package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/orchestrator"
)

// reply is Config.Reply.
func (w *stopsWorld) reply(ctx context.Context, wait orchestrator.Wait) (orchestrator.Reply, error) {
	w.mu.Lock()
	answering, said := w.now.answering, w.answers[stopsQuestion(wait)]
	w.mu.Unlock()
	if !answering {
		return orchestrator.Reply{}, orchestrator.ErrSuspended
	}
	w.late(wait.Seq) // the step has begun
	switch {
	case said && wait.Kind != orchestrator.WaitUnknown: // which may come to pass again
		w.blame("a person is asked again what was answered: %+v", wait)
	case wait.Kind == orchestrator.WaitApproval && w.firedBefore(): // a tool may ask at the very moment
		w.blame("a person is asked after the stop")
	}
	w.at(stopsAtQuestion)
	reply, err := w.person(ctx, stopsNumber(wait.Arguments)+len(wait.Text))
	if err == nil && ctx.Err() == nil {
		w.answered(wait, reply)
	}
	return reply, err
}

// person is what a person does who is asked.
func (w *stopsWorld) person(ctx context.Context, n int) (orchestrator.Reply, error) {
	switch w.plan.person[n%len(w.plan.person)] {
	case stopsSaysNo:
		return orchestrator.Reply{Reason: "no"}, nil
	case stopsSaysLater:
		return orchestrator.Reply{}, fmt.Errorf("asleep: %w", orchestrator.ErrSuspended)
	case stopsSaysSlowly:
		time.Sleep(3 * time.Millisecond)
	case stopsSaysNothing:
		if err := stopsSleep(ctx, time.Minute); err != nil {
			return orchestrator.Reply{}, err
		}
	case stopsSaysError:
		return orchestrator.Reply{}, errors.New("the line is dead")
	case stopsSaysPanic:
		panic("the terminal")
	default:
	}
	return orchestrator.Reply{Approve: true, Text: "yes"}, nil
}

// stopsQuestion is what a wait is about. Its id changes with the time until which it can be
// answered.
func stopsQuestion(wait orchestrator.Wait) string {
	return fmt.Sprintf("%d: %s", stopsNumber(wait.Arguments), wait.Text)
}

// answered notes a reply to a wait.
func (w *stopsWorld) answered(wait orchestrator.Wait, reply orchestrator.Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[stopsQuestion(wait)] = true
	if wait.Kind == orchestrator.WaitApproval && reply.Approve {
		w.approved[stopsNumber(wait.Arguments)] = true
	}
}

// mayMake checks that a call that somebody has to approve is approved.
func (w *stopsWorld) mayMake(n int) {
	w.mu.Lock()
	approved := w.approved[n]
	w.mu.Unlock()
	if !approved && w.plan.needsApproval(n) {
		w.blame("call %d is made although nobody approved it", n)
	}
}

// needsApproval reports whether somebody has to approve call n.
func (p *stopsPlan) needsApproval(n int) bool {
	switch p.approve {
	case stopsApprovesAll, stopsApprovesNever:
		return true
	case stopsApprovesChanges:
		switch p.toolOf(n) {
		case "look", "outside", "inlineraw", "ask_user": // read-only
			return false
		}
		return true
	default: // nobody, or it depends
		return false
	}
}

// toolOf returns the tool of call n.
func (p *stopsPlan) toolOf(n int) string {
	for _, r := range p.script {
		for _, c := range r.calls {
			if c.n == n {
				return c.tool
			}
		}
	}
	return ""
}
