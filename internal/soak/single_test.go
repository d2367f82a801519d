package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// The places at which a process with a single run stands still until it is told to go on.
const (
	atModel  = "model"  // the model is asked
	atIntent = "intent" // the intent of an unsafe call is stored, and the call has had no effect
	atEffect = "effect" // the call has had its effect, and nothing of it is stored
)

// outcome is what a process tells of its run.
type outcome struct {
	Status machine.Status
	Text   string
	Err    string
	Waits  []machine.Wait
}

func outcomeOf(res orchestrator.Result, err error) outcome { //nolint:gocritic // as Run returns it
	o := outcome{Status: res.Status, Text: res.Output.Text(), Waits: res.Waits}
	if err != nil {
		o.Err = err.Error()
	}
	return o
}

// stand says where the process is, and waits until it is told to go on.
func stand(p *plan, at string) {
	if p.At != at {
		return
	}
	fmt.Println(`"` + at + `"`)
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		os.Exit(3)
	}
}

// payment has the one run of a process ask a model, pay by an unsafe call, and ask it again.
func payment(p *plan) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) {
		c.Default = "work"
		c.Client = client(func(req *llmclient.Request) scripted.Reply {
			if len(req.Messages) == 1 {
				stand(p, atModel)
				return scripted.Calls(call("c1", "pay", p.Run+"/pay"))
			}
			return scripted.Text("paid")
		})
	}
}

// pay is the process that begins the run.
func pay(ctx context.Context, p *plan) error {
	o, _, _, err := open(ctx, p, payment(p))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(outcomeOf(o.Run(ctx, taskOf(p.Run))))
}

// recoverOne is the process that recovers the run until it has ended or waits, and tells how it is.
func recoverOne(ctx context.Context, p *plan) error {
	o, _, store, err := open(ctx, p, payment(p))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ends := make(chan machine.RunFinished, 1)
	over := make(chan error, 1)
	go func() {
		defer close(ends)
		over <- o.Recover(ctx, orchestrator.Recovery{Every: 20 * time.Millisecond, Event: func(_ checkpoint.Key, e machine.Event) {
			if end, ok := e.Detail.(machine.RunFinished); ok {
				ends <- end
			}
		}})
	}()
	end := <-ends
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		return err
	}
	if _, err := store.Head(context.WithoutCancel(ctx), checkpoint.Key{Run: p.Run}); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(outcome{Status: end.Status, Text: end.Output.Text(), Waits: end.Waits})
}

// hear returns the next thing that a process says, and kills one that says nothing.
func hear[T any](t testing.TB, s *process) (said T) {
	t.Helper()
	if s.said == nil {
		s.said = json.NewDecoder(s.out)
	}
	defer time.AfterFunc(waittest.Most, func() { _ = s.cmd.Process.Kill() }).Stop()
	require.NoError(t, s.said.Decode(&said))
	return said
}

// goOn tells a process that stands still to go on.
func (s *process) goOn(t testing.TB) {
	t.Helper()
	_, err := fmt.Fprintln(s.in, "go on")
	require.NoError(t, err)
}
