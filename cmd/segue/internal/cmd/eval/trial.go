package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/orchestrator"
)

// bench is what all trials of an evaluation share.
type bench struct {
	c     *cli.CLI
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

// variant returns a variant of a suite. Flags say what it does not.
func (b *bench) variant(ctx context.Context, f run.Flags, said variantFile, cases []eval.Case) (eval.Variant, error) {
	given := f.Given
	f.Given = func(flag string) bool { return flag == "strategy" && said.Strategy != "" || given(flag) }
	f.Agent, f.Model = cmp.Or(said.Agent, f.Agent), cmp.Or(said.Model, f.Model)
	f.Policy, f.System = cmp.Or(said.Policy, f.Policy), cmp.Or(said.System, f.System)
	f.NoAsk, f.Mute, f.Usual = true, true, approve.Always
	if said.Strategy != "" {
		if err := f.Strategy.Set(said.Strategy); err != nil {
			return eval.Variant{}, fmt.Errorf("strategy %q: %w", said.Strategy, err)
		}
	}
	if b.cfg == nil && f.Agent != "" {
		return eval.Variant{}, fmt.Errorf("agent %q needs a configuration: config: FILE in the suite, or --config", f.Agent)
	}
	v := &variant{b, f, map[string]llmclient.Client{}}
	for i := range cases {
		if err := v.prepare(ctx, cases[i].Goal); err != nil {
			return eval.Variant{}, err
		}
	}
	begun, err := run.BegunWith(b.c, &f, b.cfg, b.place)
	if err != nil {
		return eval.Variant{}, err
	}
	setup, err := json.Marshal([]any{begun, said})
	return eval.Variant{Name: said.Name, Agent: v.agent, Temperature: said.Temperature, Limits: said.Limits, Setup: string(setup)}, err
}

// choose returns the flags with the agent for a goal.
func (v *variant) choose(goal string) (run.Flags, error) {
	f := v.f
	if v.cfg == nil {
		return f, nil
	}
	var err error
	f.Agent, _, err = v.cfg.Choose(config.Request{Agent: f.Agent, Source: f.Source, Goal: goal})
	return f, err
}

// prepare makes the client of the agent for a goal, which all trials share, and finds what is wrong
// before the first trial.
func (v *variant) prepare(ctx context.Context, goal string) error {
	f, err := v.choose(goal)
	if err != nil || v.clients[f.Agent] != nil {
		return err
	}
	f.Unconnected = true
	if v.usesFiles(&f) {
		f.Dir = os.TempDir()
	}
	j, err := run.JobOf(ctx, v.c, &f, v.cfg, v.s)
	if err != nil {
		return err
	}
	j.CloseFiles()
	v.clients[f.Agent] = j.Client
	return nil
}

func (v *variant) usesFiles(f *run.Flags) bool {
	strategy := ""
	if f.Given("strategy") {
		strategy = f.Strategy.Value
	}
	return v.cfg != nil && v.cfg.UsesFiles(f.Agent, strategy)
}

// agent makes the agent of a trial, with MCP servers of its own.
func (v *variant) agent(ctx context.Context, at eval.Place) (*segue.Agent, error) {
	f, err := v.choose(at.Case.Goal)
	if err != nil {
		return nil, err
	}
	f.Client, f.Tools = v.clients[f.Agent], at.Tools
	if at.Case.Files != nil || v.usesFiles(&f) {
		f.Dir = at.Folder
	}
	c := *v.c
	c.Interactive, c.MCP = false, &cli.MCPServers{Dir: at.Folder}
	at.Close(c.MCP.Close)
	j, err := run.JobOf(ctx, &c, &f, v.offering(f.Agent, &at), v.s)
	if err != nil {
		return nil, err
	}
	at.Close(j.CloseFiles)
	if servers := j.MCP.Unaccepted; len(servers) > 0 {
		return nil, fmt.Errorf("it has tools that you have not accepted, and nobody is asked here; accept them with: segue tools%s --accept %s",
			configFlag(v.place), strings.Join(servers, " "))
	}
	j.Runs = v.runs
	if err := run.NoteBegun(&c, &j, &f, v.cfg, v.place); err != nil {
		return nil, err
	}
	at.Task.Metadata, at.Task.Labels, at.Task.Limits = j.Task.Metadata, j.Task.Labels, j.Task.Limits
	return agentOf(j), nil
}

func configFlag(place locate.Place) string {
	if place.Origin == locate.Argument {
		return " --config " + cli.Quoted(place.Path)
	}
	return ""
}

// agentOf returns the agent of a job. Its folder is that of a trial: no file in it is protected.
func agentOf(j run.Job) *segue.Agent {
	j.Approve, j.Files = j.Policy(), nil
	return &segue.Agent{Model: j.Client, Configure: func(c *orchestrator.Config) {
		*c = j.Config(nil)
		c.Default = j.Task.Strategy
	}}
}

// offering returns the configuration whose agent may use the tools of a case besides its own.
func (v *variant) offering(agent string, at *eval.Place) *config.Config {
	if v.cfg == nil || v.cfg.Agents[agent].Tools == nil || len(at.Tools) == 0 {
		return v.cfg
	}
	own, a := *v.cfg, v.cfg.Agents[agent]
	a.Tools = slices.Clone(a.Tools)
	for _, t := range at.Tools {
		a.Tools = append(a.Tools, t.Definition().Name)
	}
	own.Agents = maps.Clone(own.Agents)
	own.Agents[agent] = a
	return &own
}

// judge returns the judge of the suite, and how far it can be trusted, if labels say.
func (b *bench) judge(ctx context.Context, said judgeFile, store cli.StoreFlag) (*eval.Judge, *eval.Bias, error) {
	f := *run.NewFlags()
	f.Given = func(string) bool { return false }
	f.Agent, f.NoAsk, f.Mute, f.Store = said.Agent, true, true, store
	if b.cfg == nil {
		return nil, nil, fmt.Errorf("the judge %q is an agent of a configuration, and there is none", said.Agent)
	}
	if err := f.ChooseAgent(b.cfg, "", new(orchestrator.Conversation), b.s); err != nil {
		return nil, nil, fmt.Errorf("the judge: %w", err)
	}
	j, err := run.JobOf(ctx, b.c, &f, b.cfg, b.s)
	if err != nil {
		return nil, nil, fmt.Errorf("the judge: %w", err)
	}
	judge := &eval.Judge{Agent: agentOf(j)}
	if said.Labels == "" {
		return judge, nil, nil
	}
	labels, err := readLines(said.Labels, eval.ReadLabels)
	if err != nil {
		return nil, nil, err
	}
	b.s.ShowProgress("the judge judges " + plaintext.Counted(len(labels), "label"))
	bias, err := judge.Measure(ctx, labels)
	return judge, &bias, err
}
