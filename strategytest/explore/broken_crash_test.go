package explore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/tools"
)

// secret is a strategy that breaks a law which shows only where one process goes on with the run of
// another.
type secret struct {
	name    string
	catches string                     // what the crash kit says
	process func() func(*pupil) string // makes what a process knows, which the strategy tells the model
}

var secrets = []secret{
	{"decides by the minute", "the request 0#2 is another one", func() func(*pupil) string {
		return func(*pupil) string { return time.Now().Format("15:04") }
	}},
	{"decides by a number that its process drew", "the request 0#2 is another one", func() func(*pupil) string {
		n := rand.Uint64() //nolint:gosec // it must differ
		return func(*pupil) string { return fmt.Sprint(n) }
	}},
	{"decides by what its process was started for", "the request 0#2 is another one", func() func(*pupil) string {
		started++
		n := started
		return func(*pupil) string { return fmt.Sprint(n) }
	}},
	{"decides by how long its process has lived", "the request 0#2 is another one", func() func(*pupil) string {
		began := time.Now()
		return func(*pupil) string { return time.Since(began).Truncate(time.Second).String() + began.Format("04:05") }
	}},
}

// started is how many processes there were.
var started int

// The crash kit catches what no exploration can: an exploration is made in one process, and takes
// no time.
func TestBroken_crash(t *testing.T) {
	of := func(text func() func(*pupil) string) crash.Case {
		model := scripted.New(scripted.Calls(scripted.Call("look", "{}", "call0")), scripted.Text("done"))
		look := tools.NewRaw(school.Tools[0], func(context.Context, string) (string, error) { return "seen", nil })
		return crash.Case{
			Config: func() orchestrator.Config {
				tw := &twist{}
				if text != nil {
					tw = new(asked(text()))
				}
				return orchestrator.Config{Client: model, Tools: []tools.Tool{look}, Strategies: strategy.Set{"main": newPupil(tw), "child": newPupil(&twist{})}}
			},
			Task: orchestrator.Task{Strategy: "main", Input: delegation.Input{Goal: "go"}}, Pairs: 20,
		}
	}
	require.Empty(t, crash.Try(t, of(nil)).Problems)
	for i := range secrets {
		s := &secrets[i]
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Empty(t, explored(t, new(asked(s.process())), school))
			})
			r := crash.Try(t, of(s.process))
			require.NotEmpty(t, r.Problems)
			require.Contains(t, r.String(), s.catches)
		})
	}
}
