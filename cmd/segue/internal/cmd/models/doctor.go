package models

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/autopolicy"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/markdownpolicy"
)

// serverFlags are the flags of commands that are about the server of a model. Those that say which
// server it is are those of segue run.
type serverFlags struct {
	run.Flags // only which model is asked, and where

	timeout time.Duration
	form    cli.Choice
	all     bool // the command is about all models of the server
}

// whichServer are the flags that decide which server is asked, and for which model.
var whichServer = []string{"profile", "agent", "source", "model", "api", "base-url", "policy"}

// offer adds the flags to cmd.
func (f *serverFlags) offer(c *cli.CLI, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.Model, "model", "m", "", "the model (default SEGUE_MODEL, or "+endpoint.DefaultModel+")")
	flags.StringVar(&f.BaseURL, "base-url", "", run.BaseURLUsage)
	f.API.OfferAPI(cmd, "")
	flags.StringVar(&f.Config, "config", "", "the configuration; '' is none (default "+cli.Lookup+")")
	flags.StringVar(&f.Agent, "agent", "", "the agent whose model it is (default that of the configuration)")
	flags.StringVar(&f.Source, "source", "", "where the tasks come from, for the rules of the configuration")
	f.Settings.Offer(cmd, c, &f.Config)
	f.Settings.Only = whichServer
	flags.DurationVar(&f.timeout, "timeout", doctor.DefaultTimeout, "the longest that one request may take")
	f.form = cli.OneOf(cli.FormText, cli.FormJSON)
	f.form.Offer(cmd, "output", "a text to read, or JSON")
	f.Given = flags.Changed
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("agent", c.CompleteAgentFlag(&f.Config))
	_ = cmd.RegisterFlagCompletionFunc("model", c.CompleteModels(&f.Config))
}

func doctorCommand(c *cli.CLI) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the server of a model, and say what to set",
		Long: `Doctor asks the server that segue run would ask, and says what works:
the server, the key, the model, streams, answers by a schema, tool calls with
their results, tool calls as text. It shows how far the model came with tool
calls in each way that fits, says what to set in segue.yaml, and remembers the
best way for policy: auto.

  ok       it works
  set      something should be set
  broken   it does not work; the exit code is 5
  skipped  it was not asked, because of what was found before

It takes about five requests and 1,000 tokens, up to twelve requests more if tool
calls do not work, and four times --timeout at most. What it took is written at
the end. A key is never shown. The fallbacks of a model are not asked.`,
		Example: `  segue doctor
  segue doctor --base-url http://localhost:8080/v1 --model qwen3
  segue doctor --api anthropic --model claude-sonnet-5
  segue doctor --agent planner --output json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return examine(cmd.Context(), c, f) },
	}
	f.offer(c, cmd)
	cli.OfferPolicy(cmd, &f.Policy, "", "the text format for tool calls, as in segue run (default that of the model)")
	return cmd
}

// serverAsked returns what to examine, by the flags, their variables, the profile, the
// configuration and the environment, as segue run does.
func serverAsked(ctx context.Context, c *cli.CLI, f *serverFlags) (doctor.Config, error) {
	if f.timeout <= 0 {
		return doctor.Config{}, errors.New("--timeout must be above zero, such as 30s")
	}
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return doctor.Config{}, err
	}
	place, err := c.ConfigPath(f.Config, f.Given("config"))
	if err != nil {
		return doctor.Config{}, err
	}
	s := c.Screen(cli.Output{})
	if place.Origin == locate.Found {
		cfg, err := place.Read()
		if why := "is not trusted"; f.needsNothingOf(cfg) && (err != nil || !c.Trusts(cfg)) {
			if err != nil {
				why = "cannot be read"
			}
			s.ShowProgress(plaintext.Visible("configuration " + place.Path + " " + why + ", and not used"))
			place = locate.Place{}
		}
	}
	cfg, err := run.ConfigOf(ctx, c, &f.Flags, place, s)
	if err != nil {
		return doctor.Config{}, err
	}
	if cfg != nil {
		if err := f.Settings.FromProfile(cfg); err != nil {
			return doctor.Config{}, err
		}
	}
	if err := f.Check(); err != nil {
		return doctor.Config{}, err
	}
	if f.Policy != "" && f.Policy != config.PolicyAuto {
		if _, err := textpolicy.New(f.Policy, markdownpolicy.Options{}); err != nil {
			return doctor.Config{}, fmt.Errorf("--policy: %w", err)
		}
	}
	model := ""
	if cfg != nil {
		agent, _, err := cfg.Choose(config.Request{Agent: f.Agent, Source: f.Source})
		if err != nil {
			return doctor.Config{}, err
		}
		model = cfg.ModelOf(cfg.Agents[agent])
	}
	d := doctor.Config{Timeout: f.timeout}
	d.Client, d.KeyVariable, d.Policy, err = cfg.Server(model, run.ClientOptions(c, &f.Flags))
	if d.Policy == config.PolicyAuto { // what is to be found out
		d.Policy = ""
	}
	return d, err
}

// needsNothingOf reports whether the flags, or else the environment, say which server and model it
// is, whatever the configuration says; nil is one that cannot be read.
func (f *serverFlags) needsNothingOf(cfg *config.Config) bool {
	if f.Agent != "" || f.Source != "" || f.Settings.Profile != "" {
		return false
	}
	named := false
	if cfg != nil {
		_, named = cfg.Models[f.Model]
	}
	return cfg != nil && len(cfg.Models) == 0 || f.BaseURL != "" && !named && (f.all || f.Model != "")
}

// untilInterrupted returns a context that ends when the user interrupts.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
}

// errGivenUp says that the user did not wait.
var errGivenUp = &cli.ExitError{Code: cli.ExitInterrupted, Err: errors.New("interrupted")}

// examine executes segue doctor.
func examine(ctx context.Context, c *cli.CLI, f *serverFlags) error {
	cfg, err := serverAsked(ctx, c, f)
	if err == nil && cfg.Client.Model == "" {
		err = endpoint.ErrNoModel
	}
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	columns, text := terminal.SizeOf(c.Stdout).Columns, f.form.Value == cli.FormText
	var broken error // of standard output
	show := func(s string) {
		if text && broken == nil {
			broken = cli.Write(c.Stdout, s)
		}
	}
	show(doctor.Heading(doctor.Shown(cfg.Client.BaseURL), cfg.Client.Model, columns))
	report, err := doctor.Examine(ctx, cfg, func(k doctor.Check) { show(k.Text(columns)) })
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errGivenUp
	}
	show(report.Summary(columns))
	if memory := autopolicy.MemoryOf(c.Getenv); report.Choice != nil && memory != "" {
		chosen, err := memory.Keep(cfg.Client, *report.Choice)
		if err != nil {
			c.Screen(cli.Output{}).Warn(err.Error())
		} else {
			show("Remembered for policy: auto: " + chosen.Text() + ".\n")
		}
	}
	if !text {
		broken = cli.Encode(c.Stdout, report)
	}
	if broken != nil || report.Verdict != doctor.Broken {
		return broken
	}
	return &cli.ExitError{Code: cli.ExitProvider, Err: fmt.Errorf("the model cannot be used as it is: %s", strings.Join(brokenOf(report), "; "))}
}

// brokenOf returns what is broken, with what to do.
func brokenOf(r doctor.Report) (all []string) {
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			if f.Verdict == doctor.Broken {
				all = append(all, f.Measured+" ("+f.Advice+")")
			}
		}
	}
	return all
}
