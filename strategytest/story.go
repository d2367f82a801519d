package strategytest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Stories runs every script (*.txt) below dir as a separate test, with the strategies of the set.
// The flag -rewrite rewrites the expected output; read the difference before you accept it.
//
// A script begins with a comment that says why it exists. After that it is a list of commands in
// the form of github.com/cockroachdb/datadriven: a command with arguments, lines of input, "----",
// and the output.
//
//	model              what the model will say: replies separated by blank lines, each a list of lines
//	                     for TEXT               only for a request whose last user message contains this
//	                     say TEXT               a text; one in double quotes may hold \n; another is the next piece of it
//	                     think TEXT             a thought
//	                     call ID NAME [ARGS]    a tool call, with the arguments as they are
//	                     finish REASON          the finish reason, if it is not the usual one
//	                     usage INPUT OUTPUT     tokens
//	                     fail CODE [TEXT]       no reply: an error of that llmclient.Code
//	                     nothing                an empty reply
//	                     hang                   it takes a day: all else comes first
//	tool NAME [FLAG…]  a tool whose result is the input; flags: failed, panics, read-only, sequential
//	agent NAME STRATEGY [fan-out] [NAME=N…]
//	                   a tool that runs a strategy, as orchestrator.AgentTool makes it, with limits of each run
//	limits NAME=N…     limits of the runs below, named as in the JSON form of delegation.Limits
//	run STRATEGY [history=last] [replies=last] [deltas] [brief] [stop=WHERE] [stop-now=WHERE]
//	                   a run whose goal is the input; with history=last after the messages of the last run, with
//	                   replies=last with its replies; brief leaves changes of state out of the output, and all
//	                   steps except the results of agents
//
// A run has the strategies of the set that name only tools and strategies of the script, and those
// that it needs. If orchestrator.New refuses the configuration, the output is its error.
//
// The output of run is what happened: the frames entered and left, the changes of state, what each
// step requested (of the messages of a request, those that the last request of its frame did not
// have) and how it was answered, and the usage of each frame below the root. It also lists replies
// that were not used. Agents, which work concurrently, are written one after the other, in the step
// that ran them; each has a name ("4/c1/2": the second goal of the call c1 in step 4) and numbers
// its own frames and steps.
//
// A run can be stopped in a step ("#3", or "4/c1/2#1" for one of an agent), or in the first step of
// a frame ("0.1"): after it (stop) or before it has an answer (stop-now). In a batch this is the
// first call. If other calls run at the same time, they first proceed as far as they can. In a step
// whose first call is that of an agent, the run is stopped when the agent begins, however far the
// others are. A script runs in a testing/synctest bubble, with its clock.
func Stories(t *testing.T, dir string, set strategy.Set) {
	t.Helper()
	playAll(t, dir, set, nil)
}

// playAll runs every script below dir. It calls before, which may be nil, before each run.
func playAll(t *testing.T, dir string, set strategy.Set, before func(*testing.T, *storyRun)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "strategytest: no stories in %s", dir)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := story{set: set, before: before}
			datadriven.RunTest(t, file, s.command)
		})
	}
}

// story is the state between the commands of one script.
type story struct {
	set     strategy.Set
	before  func(*testing.T, *storyRun)
	replies []scripted.Reply // for the next run
	script  []scripted.Reply // of the last run
	tools   []tools.Tool
	limits  delegation.Limits
	last    messages.History
}

// storyRun is a run that a script requests.
type storyRun struct {
	config orchestrator.Config // without a Client
	task   orchestrator.Task
	script []scripted.Reply
	stop   stop
}

func (s *story) command(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "model":
		replies, err := parseReplies(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		s.replies = replies
		return ""
	case "tool":
		s.addTool(t, d)
		return ""
	case "agent":
		s.addAgent(t, d)
		return ""
	case "limits":
		s.limits = delegation.Limits{}
		for _, arg := range d.CmdArgs {
			setLimit(t, d, &s.limits, arg)
		}
		return ""
	case "run":
		return s.run(t, d)
	default:
		d.Fatalf(t, "no command %q: the commands are model, tool, agent, limits and run", d.Cmd)
		return ""
	}
}

func (s *story) addTool(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	if len(d.CmdArgs) == 0 {
		d.Fatalf(t, "usage: tool NAME [failed] [panics] [read-only] [sequential]")
	}
	def := tools.Definition{Name: d.CmdArgs[0].Key}
	output, fails, panics := d.Input, false, false
	for _, flag := range d.CmdArgs[1:] {
		switch flag.Key {
		case "failed":
			fails = true
		case "panics":
			panics = true
		case "read-only":
			def.ReadOnly = true
		case "sequential":
			def.Sequential = true
		default:
			d.Fatalf(t, "a tool has no flag %q", flag.Key)
		}
	}
	s.add(tools.NewRaw(def, func(context.Context, string) (string, error) {
		switch {
		case panics:
			panic(output)
		case fails:
			return "", errors.New(output)
		default:
			return output, nil
		}
	}))
}

// addAgent adds a strategy as a tool.
func (s *story) addAgent(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	if len(d.CmdArgs) < 2 {
		d.Fatalf(t, "usage: agent NAME STRATEGY [fan-out] [NAME=N…]")
	}
	a := orchestrator.Agent{Definition: tools.Definition{Name: d.CmdArgs[0].Key}, Strategy: d.CmdArgs[1].Key}
	for _, arg := range d.CmdArgs[2:] {
		if arg.Key == "fan-out" {
			a.FanOut = true
			continue
		}
		setLimit(t, d, &a.Limits, arg)
	}
	s.add(orchestrator.AgentTool(a))
}

// add adds a tool to the following runs, and replaces one of the same name.
func (s *story) add(tool tools.Tool) {
	name := tool.Definition().Name
	s.tools = slices.DeleteFunc(s.tools, func(have tools.Tool) bool { return have.Definition().Name == name })
	s.tools = append(s.tools, tool)
}

func setLimit(t *testing.T, d *datadriven.TestData, l *delegation.Limits, arg datadriven.CmdArg) {
	t.Helper()
	var n int
	arg.Scan(t, 0, &n)
	switch arg.Key {
	case "depth":
		l.Depth = n
	case "steps":
		l.Steps = n
	case "model_calls":
		l.ModelCalls = n
	case "tool_calls":
		l.ToolCalls = n
	case "total_tokens":
		l.TotalTokens = int64(n)
	default:
		d.Fatalf(t, "there is no limit %q", arg.Key)
	}
}

// run executes a run, and removes its script.
func (s *story) run(t *testing.T, d *datadriven.TestData) (text string) {
	t.Helper()
	if len(d.CmdArgs) == 0 {
		d.Fatalf(t, "usage: run STRATEGY [history=last] [replies=last] [deltas] [brief] [stop=WHERE] [stop-now=WHERE]")
	}
	in := delegation.Input{Goal: strings.TrimSpace(d.Input)}
	var run storyRun
	tr := newTrace(newPlaces())
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "history":
			in.Messages = s.last
		case "replies":
			s.replies = s.script
		case "deltas":
			tr.deltas = true
		case "brief":
			tr.brief = true
		case "stop", "stop-now":
			run.stop.now = arg.Key == "stop-now"
			arg.Scan(t, 0, &run.stop.where)
		default:
			d.Fatalf(t, "a run has no flag %q", arg.Key)
		}
	}
	run.script = s.replies
	root := d.CmdArgs[0].Key
	run.config = orchestrator.Config{Strategies: needed(s.set, root, s.tools), Tools: s.tools, Limits: s.limits}
	run.task = orchestrator.Task{Strategy: root, Run: storyID, Input: in}
	if refused := refusal(run.config); refused != "" {
		return refused
	}
	synctest.Test(t, func(t *testing.T) {
		if s.before != nil {
			s.before(t, &run)
		}
		s.play(t, &run, tr)
	})
	s.replies, s.script = nil, run.script
	return tr.root.text.String()
}

// refusal returns the error of orchestrator.New for a configuration in the form of a story, or ""
// if there is none.
func refusal(cfg orchestrator.Config) string {
	cfg.Client = scripted.New()
	if _, err := orchestrator.New(cfg); err != nil {
		return "refused: " + err.Error() + "\n"
	}
	return ""
}

// storyID is the id of every run.
const storyID = "story"

// play executes the run and writes it as text.
func (s *story) play(t *testing.T, run *storyRun, tr *trace) {
	t.Helper()
	ctx, stops := newStopper(t.Context(), run.stop, tr.places)
	defer stops.cancel(nil)
	model := scripted.New(run.script...)
	run.config.Client, run.config.Middleware = model, []orchestrator.Middleware{tr.around, stops.around}
	run.task.Stop = stops.asked
	o, err := orchestrator.New(run.config)
	require.NoError(t, err)
	for e, err := range o.Stream(ctx, run.task) {
		if e.Kind == "" {
			tr.root.line(0, "not started: %v", err)
			return
		}
		caller, begins := tr.places.event(&e)
		tr.event(e, begins)
		if begins && stops.hits(caller) {
			stops.request(spot{agent: e.Frame})
		}
		if end, ok := e.Detail.(orchestrator.RunFinished); ok {
			s.last = end.Output.Messages
			require.NoError(t, s.last.Validate(), "the history of every run obeys the laws")
		}
	}
	if left := model.Remaining(); left > 0 {
		tr.root.line(0, "(the model had %d replies left)", left)
	}
	if run.stop.where != "" && !stops.made() {
		tr.root.line(0, "(it was not stopped: there is no %s)", run.stop.where)
	}
}
