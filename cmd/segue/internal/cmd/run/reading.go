package run

import (
	"context"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/orchestrator"
)

// ReadJob makes the job of the run that segue run would begin, of which no model is asked. The
// flags get the agent that is chosen.
func ReadJob(ctx context.Context, c *cli.CLI, f *Flags) (j Job, err error) {
	f.NoAsk = f.NoAsk || !f.Ask && !c.Interactive
	s := c.Screen(cli.Output{Quiet: true})
	place, err := c.ConfigPath(f.Config, f.Given("config"))
	if err != nil {
		return j, err
	}
	var cfg *config.Config
	if place.Origin == locate.None {
		err = f.NeedConfiguration()
	} else if cfg, err = place.Read(); err == nil {
		err = cfg.Try()
	}
	if err != nil {
		return j, err
	}
	if cfg != nil {
		if err = f.Settings.FromProfile(cfg); err == nil {
			err = f.ChooseAgent(cfg, "", new(orchestrator.Conversation), s)
		}
		if err != nil {
			return j, err
		}
	}
	return JobOf(ctx, c, f, cfg, s)
}
