package orchestrator_test

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/scenetest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

type scene = scenetest.Scene

var (
	ask  = scenetest.Ask
	done = scenetest.Done
	said = scenetest.Said
)

func only(s func() *scene) map[string]func() *scene { return map[string]func() *scene{"main": s} }

// caller asks once, makes the calls of the reply, and is done.
func caller() strategy.Strategy {
	return &scene{
		Start:   func(delegation.Input) nextstep.NextStep { return ask("x", "t") },
		Reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
		Results: func([]messages.ToolOutput) nextstep.NextStep { return done("ok") },
	}
}

// delegates has another strategy do the work.
func delegates(in delegation.Input) nextstep.NextStep {
	return nextstep.Delegate{Strategy: "sub", Input: in}
}
