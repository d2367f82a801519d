package run

import (
	"context"
	"slices"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// SoFar returns a conversation before its next turn; one without runs has no Turns.
func SoFar(ctx context.Context, c *cli.CLI, runs *cli.RunStore, session string, s *terminal.Screen) (so orchestrator.Conversation, err error) {
	last, err := runs.LastTurn(ctx, session)
	if err != nil || last == nil {
		return so, err
	}
	err = Reads(ctx, c, runs, last.Key, s, func(o *orchestrator.Orchestrator) (err error) {
		so, err = o.Conversation(ctx, "", session)
		return err
	})
	if err != nil {
		err = cli.Failed(err)
	}
	return so, err
}

// Reads does something with an orchestrator that has the strategies of a run, and asks no model. If
// what the run was begun with cannot be had any more, they are those of the command.
func Reads(ctx context.Context, c *cli.CLI, runs *cli.RunStore, key checkpoint.Key, s *terminal.Screen, do func(*orchestrator.Orchestrator) error) error {
	f := &Flags{Reads: true, Mute: true, Given: func(string) bool { return false }}
	j, err := JobAgain(ctx, c, f, runs, key, s)
	if err != nil {
		return runs.Through(ctx, func(_ context.Context, o *orchestrator.Orchestrator) error { return do(o) })
	}
	defer j.CloseFiles()
	o, err := j.Orchestrator(nil)
	if err != nil {
		return err
	}
	return do(o)
}

// answered returns the agent that has answered last in a conversation; "": none.
func answered(so *orchestrator.Conversation, cfg *config.Config) string {
	if cfg != nil && so.Strategy != "" {
		if _, there := cfg.Agents[so.Strategy]; there {
			return so.Strategy
		}
	}
	return so.Last.Header.Labels[AgentLabel]
}

// ToldTo returns what an agent is told of a conversation. The system prompt belongs to the agent:
// that of another one is left out.
func ToldTo(agent string, so *orchestrator.Conversation, cfg *config.Config) messages.History {
	h := so.History.Clip()
	if answered(so, cfg) != agent {
		h = slices.DeleteFunc(slices.Clone(h), func(m messages.Message) bool { return m.Role() == messages.RoleSystem })
	}
	return h
}
