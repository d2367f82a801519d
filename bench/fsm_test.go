package bench_test

import (
	"context"

	"github.com/looplab/fsm"
)

// withFSM is run with a looplab/fsm machine that makes two transitions a round, and nothing else.
// It shows the cost of the machine alone.
func (l *loop) withFSM(ctx context.Context, goal string) ([]message, error) {
	machine := fsm.NewFSM("thinking", []fsm.EventDesc{
		{Name: "called", Src: []string{"thinking"}, Dst: "acting"},
		{Name: "answered", Src: []string{"acting"}, Dst: "thinking"},
		{Name: "finished", Src: []string{"thinking"}, Dst: "done"},
	}, nil)
	history := []message{{Role: "user", Content: goal}}
	for range l.most {
		reply, err := l.ask(ctx, history, nil)
		if err != nil {
			return history, err
		}
		history = append(history, reply)
		if len(reply.Calls) == 0 {
			return history, machine.Event(ctx, "finished")
		}
		if err := machine.Event(ctx, "called"); err != nil {
			return history, err
		}
		for _, c := range reply.Calls {
			history = append(history, message{Role: "tool", CallID: c.ID, Content: l.call(ctx, c)})
		}
		if err := machine.Event(ctx, "answered"); err != nil {
			return history, err
		}
	}
	return history, errTooMany
}
