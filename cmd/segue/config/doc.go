// Package config reads segue.yaml, the configuration of the command segue: named models and agents,
// and rules that choose the agent for a task. docs/configuration.md describes the file. A program
// can use this package to run the agents of a file:
//
//	c, err := config.Read("segue.yaml")            // what is wrong is a *config.Error
//	name, _, err := c.Choose(config.Request{Goal: goal})
//	setup, err := c.Setup(name, config.Options{Tools: list})
//	client, err := setup.Client(config.ClientOptions{})
//	o, err := orchestrator.New(orchestrator.Config{
//		Client: client, Strategies: setup.Strategies, Tools: setup.Tools,
//		Approve: &orchestrator.ApprovalConfig{Default: setup.Approve},
//	})
//
// An agent is an entry of the file. Setup makes a strategy with the agent's name for an
// orchestrator, and also a tool with that name if another agent may call it.
//
// A file that was not named, but found in a folder, may belong to somebody else. The command uses
// it only after the user has trusted it, and sets [Config.Found]; a program that reads such a file
// must decide itself.
package config
