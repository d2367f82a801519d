// Package config is the configuration of the command segue, segue.yaml: models and agents by name,
// and rules that choose the agent of a task. docs/configuration.md shows all of it. A program that
// imports this package runs what a file says:
//
//	c, err := config.Read("segue.yaml")            // what is wrong is a *config.Error
//	name, _, err := c.Choose(config.Request{Goal: goal})
//	setup, err := c.Setup(name, config.Options{Tools: list})
//	client, err := setup.Client(config.ClientOptions{})
//	approver := setup.Approver()                   // is to observe the events of the run
//	o, err := orchestrator.New(orchestrator.Config{
//		Client: client, Strategies: setup.Strategies, Tools: setup.Tools,
//		Approve: &orchestrator.ApprovalConfig{Default: approver.Policy},
//	})
//
// Here an agent is an entry of the file. What is made of it is a strategy of the same name, for an
// orchestrator, and a tool of that name where another agent may call it.
//
// A file that nobody named, but that was found in a folder ([Locate], [Find]), may be somebody
// else's. The command has the user trust it first; a program that reads such a file decides for
// itself.
package config
