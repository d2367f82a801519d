package frame

import (
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/owntool"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// agentTool is an agent that a strategy brings.
type agentTool struct {
	tools.Tool
	agent *strategy.Agent
}

// Agent returns the agent, for package machine.
func (t agentTool) Agent() *strategy.Agent { return t.agent }

// AgentTool returns a tool by which a strategy itself starts an agent, one branch for each call.
// The function makes the input of the branch. It is called for calls by the model too, which it
// should refuse.
func AgentTool(def tools.Definition, agent strategy.Agent, input func(arguments string) (delegation.Input, error)) tools.Tool {
	agent.Branches = 1
	agent.Inputs = func(arguments string) ([]delegation.Input, bool, error) {
		in, err := input(arguments)
		return []delegation.Input{in}, false, err
	}
	return agentTool{owntool.New(def, notAlone), &agent}
}

func notAlone(string) (string, error) {
	return "", errors.New("this tool works only in the run of its strategy")
}
