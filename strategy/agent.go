package strategy

import (
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/owntool"
	"github.com/segue-go/segue/tools"
)

// Agent is a strategy that is called as a tool: a tool is an agent if it has a method
// Agent() *Agent. Each call opens one or more branches, which run in parallel with the other calls
// of the batch. The output of a branch is the result of its call.
type Agent struct {
	Strategy string            // its name in the Set
	Limits   delegation.Limits // limits of each branch, within what is left of the limits above it; zero fields mean those
	Tools    []string          // names of the caller's tools that it may use; nil: all of them
	Model    string            // for the requests of its subtree that set none; "": that of the caller
	Branches int               // most branches of one call; with more inputs the call fails. 0: any number

	// Inputs makes the inputs of the branches of a call, one for each branch. If several is true,
	// the results become a JSON array in the same order. Inputs must be pure. Its error becomes the
	// failed result of the call.
	Inputs func(arguments string) (inputs []delegation.Input, several bool, err error)
}

// AgentTool returns a tool by which a strategy itself starts an agent: the strategy brings it, as a
// [ToolProvider], and calls it by an ExecuteTools. Agents whose calls stand in one step work at the
// same time, and their outputs are the results of the calls. Do not offer the tool to a model.
//
// Input makes the input of the branch from the arguments of the call. It must be pure. It is called
// for calls of a model, too, which it should refuse; its error becomes the failed result of the
// call. What the agent calls is judged and recorded call by call, so the call of the agent itself
// counts as read-only and idempotent. It has no time-out, and its result is not cut, unless def
// says otherwise.
func AgentTool(def tools.Definition, agent Agent, input func(arguments string) (delegation.Input, error)) tools.Tool {
	def.ReadOnly, def.Idempotent = true, true
	if def.Timeout == 0 {
		def.Timeout = -1
	}
	if def.MaxResult == 0 {
		def.MaxResult = -1
	}
	agent.Branches = 1
	agent.Inputs = func(arguments string) ([]delegation.Input, bool, error) {
		in, err := input(arguments)
		return []delegation.Input{in}, false, err
	}
	return agentTool{owntool.New(def, notAlone), &agent}
}

// agentTool is an agent that a strategy brings.
type agentTool struct {
	tools.Tool
	agent *Agent
}

// Agent returns the agent, for package machine.
func (t agentTool) Agent() *Agent { return t.agent }

func notAlone(string) (string, error) {
	return "", errors.New("this tool works only in the run of its strategy")
}
