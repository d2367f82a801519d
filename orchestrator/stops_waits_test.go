package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// reply is Config.Reply.
func (w *stopsWorld) reply(ctx context.Context, wait machine.Wait) (machine.Reply, error) {
	w.mu.Lock()
	answering, said := w.now.answering, w.answers[stopsQuestion(wait)]
	w.mu.Unlock()
	if !answering {
		return machine.Reply{}, tools.ErrSuspended
	}
	w.late(wait.Seq) // the step has begun
	switch {
	case said && wait.Kind != machine.WaitUnknown: // which may come to pass again
		w.blame("a person is asked again what was answered: %+v", wait)
	case wait.Kind == machine.WaitApproval && w.firedBefore(): // a tool may ask at the very moment
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
func (w *stopsWorld) person(ctx context.Context, n int) (machine.Reply, error) {
	switch w.plan.person[n%len(w.plan.person)] {
	case stopsSaysNo:
		return machine.Reply{Reason: "no"}, nil
	case stopsSaysLater:
		return machine.Reply{}, fmt.Errorf("asleep: %w", tools.ErrSuspended)
	case stopsSaysSlowly:
		time.Sleep(3 * time.Millisecond)
	case stopsSaysNothing:
		if err := stopsSleep(ctx, time.Minute); err != nil {
			return machine.Reply{}, err
		}
	case stopsSaysError:
		return machine.Reply{}, errors.New("the line is dead")
	case stopsSaysPanic:
		panic("the terminal")
	default:
	}
	return machine.Reply{Approve: true, Text: "yes"}, nil
}

// stopsQuestion is what a wait is about. Its id changes with the time until which it can be
// answered.
func stopsQuestion(wait machine.Wait) string {
	return fmt.Sprintf("%d: %s", stopsNumber(wait.Arguments), wait.Text)
}

// answered notes a reply to a wait.
func (w *stopsWorld) answered(wait machine.Wait, reply machine.Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[stopsQuestion(wait)] = true
	if wait.Kind == machine.WaitApproval && reply.Approve {
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
