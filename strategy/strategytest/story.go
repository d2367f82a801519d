package strategytest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Stories runs every script (*.txt) below dir as a test of its own, against the strategies of the set. With the flag
// -rewrite what is expected is written anew; read the difference before you believe it.
//
// A script begins with why it is there, in comments, and is then a list of commands in the form of
// github.com/cockroachdb/datadriven: a command with arguments, lines of input, "----", and the output.
//
//	model              what the model will say: replies separated by blank lines, each a list of lines
//	                     say TEXT               a text; one in double quotes may hold \n
//	                     think TEXT             a thought
//	                     call ID NAME [ARGS]    a tool call, with the arguments as they are
//	                     finish REASON          the finish reason, where it is not the usual one
//	                     usage INPUT OUTPUT     tokens
//	                     fail CODE [TEXT]       no reply: an error of that llmclient.Code
//	                     nothing                a reply of nothing
//	tool NAME [FLAG…]  a tool whose result is the input; flags: failed, panics, read-only, sequential
//	limits NAME=N…     limits of the runs below, named as in the JSON form of delegation.Limits
//	run STRATEGY [history=last] [deltas]
//	                   a run whose goal is the input, after the messages of the last run if so said
//
// The output of run is what happened: which frames were entered and left, how states changed, what each step asked for
// (of the messages of a request, those that the last request of its frame did not have) and what it was answered. Where
// the replies are not used up, that is said too.
func Stories(t *testing.T, dir string, set strategy.Set) {
	t.Helper()
	tell(t, dir, set, nil)
}

// tell runs every script below dir. Before a run is made, before is called with it; it may be nil.
func tell(t *testing.T, dir string, set strategy.Set, before func(*testing.T, *storyRun)) {
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
	replies []scripted.Reply
	tools   []tools.Tool
	limits  delegation.Limits
	last    messages.History
}

// storyRun is a run that a script asks for.
type storyRun struct {
	config orchestrator.Config // without a Client
	task   orchestrator.Task
	script []scripted.Reply
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
	case "limits":
		s.setLimits(t, d)
		return ""
	case "run":
		return s.run(t, d)
	default:
		d.Fatalf(t, "no command %q: the commands are model, tool, limits and run", d.Cmd)
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
	s.tools = slices.DeleteFunc(s.tools, func(have tools.Tool) bool { return have.Definition().Name == def.Name })
	s.tools = append(s.tools, tools.NewRaw(def, func(context.Context, string) (string, error) {
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

func (s *story) setLimits(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	s.limits = delegation.Limits{}
	for _, arg := range d.CmdArgs {
		var n int
		arg.Scan(t, 0, &n)
		switch arg.Key {
		case "depth":
			s.limits.Depth = n
		case "steps":
			s.limits.Steps = n
		case "model_calls":
			s.limits.ModelCalls = n
		case "tool_calls":
			s.limits.ToolCalls = n
		case "total_tokens":
			s.limits.TotalTokens = int64(n)
		default:
			d.Fatalf(t, "there is no limit %q", arg.Key)
		}
	}
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if len(d.CmdArgs) == 0 {
		d.Fatalf(t, "usage: run STRATEGY [history=last] [deltas]")
	}
	in := delegation.Input{Goal: strings.TrimSpace(d.Input)}
	if d.HasArg("history") {
		in.Messages = s.last
	}
	run := storyRun{
		config: orchestrator.Config{Strategies: s.set, Tools: s.tools, Limits: s.limits},
		task:   orchestrator.Task{Strategy: d.CmdArgs[0].Key, Run: "story", Input: in},
		script: s.replies,
	}
	if s.before != nil {
		s.before(t, &run)
	}
	model := scripted.New(run.script...)
	tr := trace{deltas: d.HasArg("deltas")}
	run.config.Client, run.config.Middleware = model, []orchestrator.Middleware{tr.around}
	o, err := orchestrator.New(run.config)
	require.NoError(t, err)
	for e, err := range o.Stream(t.Context(), run.task) {
		if e.Kind == "" {
			return fmt.Sprintf("not started: %v\n", err)
		}
		tr.event(e)
		if end, ok := e.Detail.(orchestrator.RunFinished); ok {
			s.last = end.Output.Messages
			require.NoError(t, s.last.Validate(), "the history of every run obeys the laws")
		}
	}
	if left := model.Remaining(); left > 0 {
		tr.line(0, "(the model had %d replies left)", left)
	}
	s.replies = nil
	return tr.text.String()
}

// parseReplies reads the input of the command model.
func parseReplies(input string) ([]scripted.Reply, error) {
	var replies []scripted.Reply
	for block := range strings.SplitSeq(input, "\n\n") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		var r scripted.Reply
		for line := range strings.Lines(block) {
			if err := parseReply(&r, strings.TrimSpace(line)); err != nil {
				return nil, err
			}
		}
		replies = append(replies, r)
	}
	return replies, nil
}

func parseReply(r *scripted.Reply, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "", "nothing":
	case "say":
		r.Text = unquote(rest)
	case "think":
		r.Thought = unquote(rest)
	case "call":
		id, rest, _ := strings.Cut(rest, " ")
		name, args, _ := strings.Cut(rest, " ")
		r.Calls = append(r.Calls, messages.ToolCall{ID: id, Name: name, Arguments: args})
	case "finish":
		r.Finish = llmclient.FinishReason(rest)
	case "usage":
		if _, err := fmt.Sscan(rest, &r.Usage.Input, &r.Usage.Output); err != nil {
			return fmt.Errorf("usage INPUT OUTPUT: %w", err)
		}
	case "fail":
		code, text, _ := strings.Cut(rest, " ")
		r.Err = &llmclient.Error{Code: llmclient.Code(code), Message: text}
	default:
		return fmt.Errorf("a reply has no line %q: the lines are say, think, call, finish, usage, fail and nothing", verb)
	}
	return nil
}

func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}
