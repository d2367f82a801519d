package main

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
	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/markdownpolicy"
)

// serverFlags are the flags of commands that are about the server of a model. Those that say which
// server it is are those of segue run.
type serverFlags struct {
	runFlags // only which model is asked, and where

	timeout time.Duration
	form    choice
	all     bool // the command is about all models of the server
}

// whichServer are the flags that decide which server is asked, and for which model.
var whichServer = []string{"profile", "agent", "source", "model", "api", "base-url", "policy"}

// offer adds the flags to cmd.
func (f *serverFlags) offer(c *cli, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.model, "model", "m", "", "the model (default SEGUE_MODEL, or "+config.DefaultModel+")")
	flags.StringVar(&f.baseURL, "base-url", "", baseURLUsage)
	f.api.offerAPI(cmd, "")
	flags.StringVar(&f.config, "config", "", "the configuration; '' is none (default "+lookup+")")
	flags.StringVar(&f.agent, "agent", "", "the agent whose model it is (default that of the configuration)")
	flags.StringVar(&f.source, "source", "", "where the tasks come from, for the rules of the configuration")
	f.settings.offer(cmd, c, &f.config)
	f.settings.only = whichServer
	flags.DurationVar(&f.timeout, "timeout", doctor.DefaultTimeout, "the longest that one request may take")
	f.form = oneOf(formText, formJSON)
	f.form.offer(cmd, "output", "a text to read, or JSON")
	f.given = flags.Changed
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("agent", c.completeAgentFlag(&f.config))
	_ = cmd.RegisterFlagCompletionFunc("model", c.completeModels(&f.config))
}

func (c *cli) doctorCommand() *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the server of a model, and say what to set",
		Long: `Doctor asks the server that segue run would ask, and says what works:
the server, the key, the model, streams, tool calls, forced calls, answers by a
schema, tool calls as text. It looks at what goes over the wire, and names what
is unusual, with what segue does about it or what to set in segue.yaml.

  ok       it works
  copes    it is unusual, and segue copes with it: nothing is to be done
  set      something should be set
  broken   it does not work; the exit code is 5
  skipped  it was not asked, because of what was found before

It takes about eight requests and 2,000 tokens, up to six requests more if tool
calls do not work, and four times --timeout at most. What it took is written at
the end. A key is never shown. The fallbacks of a model are not asked.`,
		Example: `  segue doctor
  segue doctor --base-url http://localhost:8080/v1 --model qwen3
  segue doctor --api anthropic --model claude-sonnet-5
  segue doctor --agent planner --output json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.examine(cmd.Context(), f) },
	}
	f.offer(c, cmd)
	offerPolicy(cmd, &f.policy, "", "the text format for tool calls, as in segue run (default that of the model)")
	return cmd
}

// server returns what to examine, by the flags, their variables, the profile, the configuration and
// the environment, as segue run does.
func (c *cli) server(ctx context.Context, f *serverFlags) (doctor.Config, error) {
	if f.timeout <= 0 {
		return doctor.Config{}, errors.New("--timeout must be above zero, such as 30s")
	}
	if err := f.settings.fromEnvironment(c.getenv); err != nil {
		return doctor.Config{}, err
	}
	place, err := c.configPath(f.config, f.given("config"))
	if err != nil {
		return doctor.Config{}, err
	}
	s := c.screen(output{})
	if place.Origin == config.OriginFound {
		cfg, err := place.Read()
		if why := "is not trusted"; f.needsNothingOf(cfg) && (err != nil || !c.trusts(cfg)) {
			if err != nil {
				why = "cannot be read"
			}
			s.ShowProgress(plaintext.Visible("configuration " + place.Path + " " + why + ", and not used"))
			place = config.Place{}
		}
	}
	cfg, err := c.configOf(ctx, &f.runFlags, place, s)
	if err != nil {
		return doctor.Config{}, err
	}
	if cfg != nil {
		if err := f.settings.fromProfile(cfg); err != nil {
			return doctor.Config{}, err
		}
	}
	if err := f.check(); err != nil {
		return doctor.Config{}, err
	}
	if f.policy != "" {
		if _, err := textpolicy.New(f.policy, markdownpolicy.Options{}); err != nil {
			return doctor.Config{}, fmt.Errorf("--policy: %w", err)
		}
	}
	at, err := c.serverOf(f, cfg)
	return doctor.Config{Client: at.Client, KeyVariable: at.KeyVariable, Policy: at.Policy, Timeout: f.timeout}, err
}

// needsNothingOf reports whether the flags, or else the environment, say which server and model it
// is, whatever the configuration says; nil is one that cannot be read.
func (f *serverFlags) needsNothingOf(cfg *config.Config) bool {
	if f.agent != "" || f.source != "" || f.settings.profile != "" {
		return false
	}
	named := false
	if cfg != nil {
		_, named = cfg.Models[f.model]
	}
	return cfg != nil && len(cfg.Models) == 0 || f.baseURL != "" && !named && (f.all || f.model != "")
}

// serverOf returns the server of the model of the agent, or without a configuration that of the
// environment.
func (c *cli) serverOf(f *serverFlags, cfg *config.Config) (config.Server, error) {
	o := c.clientOptions(&f.runFlags)
	if cfg == nil {
		return config.EnvironmentServer(o), nil
	}
	agent, _, err := cfg.Choose(config.Request{Agent: f.agent, Source: f.source})
	if err != nil {
		return config.Server{}, err
	}
	return cfg.Server(agent, o)
}

// untilInterrupted returns a context that ends when the user interrupts.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
}

var errGivenUp = &exitError{code: exitInterrupted, err: errors.New("interrupted")}

// examine executes segue doctor.
func (c *cli) examine(ctx context.Context, f *serverFlags) error {
	cfg, err := c.server(ctx, f)
	if err == nil && cfg.Client.Model == "" {
		err = config.ErrNoModel
	}
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	columns, text := terminal.SizeOf(c.stdout).Columns, f.form.value == formText
	var broken error // of standard output
	show := func(s string) {
		if text && broken == nil {
			broken = write(c.stdout, s)
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
	if !text {
		broken = encode(c.stdout, report)
	}
	if broken != nil || report.Verdict != doctor.Broken {
		return broken
	}
	return &exitError{code: exitProvider, err: fmt.Errorf("the model cannot be used as it is: %s", strings.Join(brokenOf(report), "; "))}
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
