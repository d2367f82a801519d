package temporal_test

import (
	"context"
	"errors"
	"net/http"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/temporal"
)

// Any program begins runs, in a worker or not.
func ExampleEngine_Start() {
	ask := func(ctx context.Context, engine *temporal.Engine, goal string) (string, error) {
		key, err := engine.Start(ctx, orchestrator.Task{Input: delegation.Input{Goal: goal}})
		if err != nil {
			return "", err
		}
		result, err := engine.Result(ctx, key) // waits until the run has ended
		return result.Output.Text(), err
	}
	_ = ask
}

// A web handler answers what a run asks.
func ExampleEngine_Answer() {
	var engine *temporal.Engine
	http.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		key := checkpoint.Key{Run: r.FormValue("run")}
		err := engine.Answer(r.Context(), key, machine.Reply{WaitID: r.FormValue("wait"), Approve: r.FormValue("approve") == "yes"})
		if refused := new(machine.ReplyError); errors.As(err, &refused) {
			http.Error(w, refused.Error(), http.StatusConflict) // answered by somebody else, expired, or the run has ended
			return
		}
		if err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
		}
	})
}
