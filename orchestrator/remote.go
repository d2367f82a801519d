package orchestrator

import (
	"cmp"
	"context"
	"errors"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// callRemote calls a remote in the role of a tool, so that it has in its context what a tool has. It
// may suspend its effect as a tool does, or by a [SuspendedError].
func (x *execution) callRemote(ctx context.Context, remote Remote, step nextstep.Delegate) (answer nextstep.Answer, err error) {
	whose := "the remote " + step.Strategy
	err = context.Canceled // stays if the remote is not called
	tool := tools.NewRaw(tools.Definition{Name: step.Strategy}, func(ctx context.Context, _ string) (string, error) {
		out, problem := remote(ctx, step)
		if err = x.readError(problem, whose); err == nil {
			answer = nextstep.DelegationResult{Output: out}
		}
		return "", err
	})
	runner := toolrun.Runner{Timeout: -1, OnPanic: func(_ messages.ToolCall, value any, stack []byte) {
		err = x.brokeDown(whose, value, stack)
	}}
	call := runner.Begin(ctx, toolrun.Job{
		Call: messages.ToolCall{Name: step.Strategy}, Tool: tool, Key: x.effect.Key(), Ask: x.ask, Resumption: x.resumption(),
	})
	out := call.Perform()
	if out.Reason != tools.ReasonSuspended {
		return answer, err
	}
	s, ok := call.Suspended()
	own, is := errors.AsType[*SuspendedError](err)
	if !ok && is && own != nil && x.suspension(&out).Waits[0].ID == "" { // nobody was asked by Ask
		s, ok = toolrun.Suspension{State: own.State}, true
		for i := range own.Waits {
			w := &own.Waits[i]
			s.Questions = append(s.Questions, tools.Question{Kind: cmp.Or(w.Kind, machine.WaitStep), Text: w.Text, Options: w.Options, Until: w.Expires})
		}
	}
	if ok {
		err = x.suspended(&s)
	}
	return nil, err
}
