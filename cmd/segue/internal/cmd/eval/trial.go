package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/orchestrator"
)

// bench is what all trials of an evaluation share.
type bench struct {
	c     *cli.CLI
	f     *run.Flags     // for what a variant does not say
	cfg   *config.Config // nil: there is none
	place locate.Place
	runs  *cli.RunStore // nil: runs are not kept
	s     *terminal.Screen
}

// variant makes the agents of a variant.
type variant struct {
	*bench
	f       run.Flags
	clients map[string]llmclient.Client // by the agents of the configuration; "" without one
}

// variant returns a variant of a suite with these cases.
func (b *bench) variant(ctx context.Context, said variantFile, cases []eval.Case) (made eval.Variant, err error) {
	f := *b.f
	f.Given = func(flag string) bool { return flag == "strategy" && said.Strategy != "" || b.f.Given(flag) }
	f.Agent, f.Model = cmp.Or(said.Agent, f.Agent), cmp.Or(said.Model, f.Model)
	f.Policy, f.System = cmp.Or(said.Policy, f.Policy), cmp.Or(said.System, f.System)
	f.NoAsk, f.Mute, f.Usual = true, true, approve.Always
	if said.Strategy != "" {
		if err := f.Strategy.Set(said.Strategy); err != nil {
			return made, fmt.Errorf("strategy %q: %w", said.Strategy, err)
		}
	}
	if b.cfg == nil && f.Agent != "" {
		return made, fmt.Errorf("agent %q needs a configuration: config: FILE in the suite, or --config", f.Agent)
	}
	v := &variant{b, f, map[string]llmclient.Client{}}
	for i := range cases {
		if err := v.prepare(ctx, cases[i].Goal); err != nil {
			return made, err
		}
	}
	begun, err := run.BegunWith(b.c, &f, b.cfg, b.place)
	if err != nil {
		return made, err
	}
	setup, err := json.Marshal([]any{begun, said})
	return eval.Variant{Name: said.Name, Agent: v.agent, Temperature: said.Temperature, Limits: said.Limits, Setup: string(setup)}, err
}

// flags returns the flags of a trial with this goal. folder is given to an agent that names tools
// for files, and to one that may use all tools if the case has files.
func (v *variant) flags(goal, folder string, files bool) (f run.Flags, err error) {
	f = v.f
	if v.cfg == nil {
		if files {
			f.Dir = folder
		}
		return f, nil
	}
	f.Agent, _, err = v.cfg.Choose(config.Request{Agent: f.Agent, Source: f.Source, Goal: goal})
	strategy := ""
	if f.Given("strategy") {
		strategy = f.Strategy.Value
	}
	if err == nil && v.cfg.UsesFiles(f.Agent, strategy, files) {
		f.Dir = folder
	}
	return f, err
}

// prepare makes the client for trials with this goal, which they share, and finds what is wrong
// before the first of them.
func (v *variant) prepare(ctx context.Context, goal string) error {
	f, err := v.flags(goal, os.TempDir(), false)
	if err != nil || v.clients[f.Agent] != nil {
		return err
	}
	f.Unconnected = true
	j, err := run.JobOf(ctx, v.c, &f, v.cfg, v.s)
	if err == nil {
		j.CloseFiles()
		v.clients[f.Agent] = j.Client
	}
	return err
}

// agent makes the agent of a trial, with MCP servers of its own.
func (v *variant) agent(ctx context.Context, at eval.Place) (*segue.Agent, error) {
	f, err := v.flags(at.Case.Goal, at.Folder, at.Case.Files != nil)
	if err != nil {
		return nil, err
	}
	f.Client, f.Tools = v.clients[f.Agent], at.Tools
	c := *v.c
	c.Interactive, c.MCP = false, &cli.MCPServers{Dir: at.Folder}
	at.Close(c.MCP.Close)
	j, err := run.JobOf(ctx, &c, &f, v.cfg, v.s)
	if err != nil {
		return nil, err
	}
	at.Close(j.CloseFiles)
	if servers := j.MCP.Unaccepted; len(servers) > 0 {
		return nil, fmt.Errorf("it has tools that you have not accepted, and nobody is asked here; in the folder of %s accept them with: segue tools --accept %s",
			cli.Quoted(v.cfg.Path), strings.Join(servers, " "))
	}
	j.Runs = v.runs
	if err := run.NoteBegun(&c, &j, &f, v.cfg, v.place); err != nil {
		return nil, err
	}
	at.Task.Metadata, at.Task.Labels, at.Task.Limits = j.Task.Metadata, j.Task.Labels, j.Task.Limits
	return agentOf(j), nil
}

// agentOf returns the agent of a job. Its folder is that of a trial: no file in it is protected.
func agentOf(j run.Job) *segue.Agent {
	j.Approve, j.Files = j.Policy(), nil
	return &segue.Agent{Model: j.Client, Configure: func(c *orchestrator.Config) {
		*c = j.Config(nil)
		c.Default = j.Task.Strategy
	}}
}

// judge returns the judge of the suite, and how far it can be trusted, if there are labels.
func (b *bench) judge(ctx context.Context, said judgeFile) (*eval.Judge, *eval.Bias, error) {
	f := *run.NewFlags()
	f.Agent, f.NoAsk, f.Mute, f.Store, f.Given = said.Agent, true, true, b.f.Store, func(string) bool { return false }
	if b.cfg == nil {
		return nil, nil, errors.New("judge: it is an agent of a configuration, and there is none")
	}
	j, err := run.JobOf(ctx, b.c, &f, b.cfg, b.s)
	if err != nil {
		return nil, nil, fmt.Errorf("judge: %w", err)
	}
	judge := &eval.Judge{Agent: agentOf(j)}
	if said.Labels == "" {
		return judge, nil, nil
	}
	labels, err := readLines(said.Labels, eval.ReadLabels)
	if err != nil {
		return nil, nil, err
	}
	b.s.ShowProgress("the judge judges what is known")
	bias, err := judge.Measure(ctx, labels)
	return judge, &bias, err
}
