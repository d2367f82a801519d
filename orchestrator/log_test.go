package orchestrator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// logbook is what was logged, one JSON object a line.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) at(level slog.Level, content bool) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
		c.LogContent = content
	}
}

// lines are level and text of what was logged, of one run.
func (l *logbook) lines(t *testing.T, run string) (list []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		var r struct{ Level, Msg, Run string }
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if r.Run == run {
			list = append(list, r.Level+" "+r.Msg)
		}
	}
	return list
}

// canaries stand wherever content can: none may get out of its cage unasked.
var canaries = []string{
	"canary-goal", "canary-prompt", "canary-reply", "canary-thought", "canary-argument", "canary-result", "canary-question", "canary-answer",
	"canary-key", "canary-panic", "canary-error", "canary-history", "canary-data", "canary-tool", "canary-reason", "canary-disk", "canary-event", "canary-retry",
}

// talkative makes runs in which everything happens that is logged, with a canary wherever there is
// content.
func talkative(t *testing.T, log func(*orchestrator.Config)) {
	t.Helper()
	act := tools.NewRaw(tools.Definition{Name: "act"}, func(ctx context.Context, args string) (string, error) {
		switch {
		case strings.Contains(args, "panic"):
			panic("canary-panic")
		case strings.Contains(args, "fail"):
			return "", errors.New("canary-error")
		}
		tools.Progress(ctx, "canary-result")
		return "canary-result", nil
	})
	sub := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "sub"}, Strategy: "work"})
	call := func(name, args, id string) messages.ToolCall { return scripted.Call(name, args, id) }
	model := scripted.New(
		scripted.Calls(call("act", `{"x":"canary-argument"}`, "1"), call("act", `{"panic":1}`, "2"), call("act", `{"fail":1}`, "3"), call("canary-tool", "{}", "4"),
			question("canary-question", "5"), call("pay", `{"to":"canary-argument"}`, "6"), call("sub", `{"goal":"canary-goal"}`, "7")),
		scripted.Text("canary-reply"),
		scripted.Reply{Thought: "canary-thought", Text: "canary-reply"},
		scripted.Error(&llmclient.Error{Code: llmclient.CodeAuth, Message: "canary-key is no key"}),
	)
	client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		llmclient.Notify(ctx, llmclient.Notice{Kind: "retry", Attempt: 1, Err: errors.New("canary-retry")})
		return model.Complete(ctx, req, d)
	})
	build := func(store checkpoint.Store) *orchestrator.Orchestrator {
		return solver(t, client, withWork, stored(store), with(act, sub, tools.AskUser(), echo("pay")), log,
			approving(orchestrator.ApprovalConfig{Default: machine.AllowAlways, Tools: map[string]machine.ApprovalPolicy{"pay": machine.AskAlways}}),
			handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
				orchestrator.Emit(ctx, machine.Event{Kind: "canary-event", Detail: machine.RunFinished{}})
				return next(ctx, e)
			}),
			replying(func(w machine.Wait) (machine.Reply, error) {
				if w.Kind == machine.WaitApproval {
					return machine.Reply{Reason: "canary-reason"}, nil
				}
				return machine.Reply{Text: "canary-answer"}, nil
			}))
	}
	ta := orchestrator.Task{Run: "r", Input: delegation.Input{
		Goal: "canary-goal", Data: json.RawMessage(`"canary-data"`), Messages: messages.History{messages.UserText("canary-history"), messages.AssistantText("canary-prompt")},
	}}
	ran(t, build(new(checkpoint.Memory)), ta)
	ta.Run = "s"
	_, err := build(nil).Run(t.Context(), ta)
	require.ErrorContains(t, err, "canary-key")
	ta.Run = "t"
	_, err = build(failsFrom(2, func() error { return errors.New("canary-disk") })).Run(t.Context(), ta)
	require.ErrorContains(t, err, "canary-disk")
}

// The log says that things happened, to whom, and how much: at no level does it say what was said.
func TestLogger_content(t *testing.T) {
	var log logbook
	talkative(t, log.at(slog.LevelDebug-4, false))
	for _, c := range canaries {
		require.NotContains(t, log.text.String(), c)
	}
	require.Positive(t, log.text.Len())

	var open logbook
	talkative(t, open.at(slog.LevelDebug, true))
	for _, c := range []string{"canary-goal", "canary-result", "canary-argument", "canary-question", "canary-answer", "canary-reason", "canary-key", "canary-panic", "canary-disk"} {
		require.Contains(t, open.text.String(), c, "it was asked for")
	}
}

// What is logged of a run, at which level. What an agent does is logged as its caller's.
func TestLogger_lines(t *testing.T) {
	var log logbook
	talkative(t, log.at(slog.LevelInfo, false))
	lines := log.lines(t, "r")
	require.Equal(t, "INFO run began", lines[0])
	require.Equal(t, "INFO run ended", lines[len(lines)-1])
	count := map[string]int{}
	for _, line := range lines {
		count[line]++
	}
	require.Equal(t, map[string]int{
		"INFO run began": 1, "INFO run ended": 1, "INFO wait began": 2, "INFO wait ended": 2, "WARN model asked again": 3,
		"WARN event refused": 7, "WARN call refused": 2, "ERROR contained a panic": 1,
	}, count)
	require.Equal(t, []string{"INFO run began", "WARN event refused", "WARN model asked again", "WARN run ended"}, log.lines(t, "s"))
	require.Contains(t, log.lines(t, "t"), "ERROR a record could not be stored")
	require.Empty(t, log.lines(t, ""), "each line names its run")

	var all logbook
	talkative(t, all.at(slog.LevelDebug, false))
	steps := 0
	for _, line := range all.lines(t, "r") {
		if line == "DEBUG step taken" {
			steps++
		}
	}
	require.Equal(t, 4, steps, "also of Run, whose events nobody sees, and of agents")
}

// A run that waits, is left, and goes on is logged as that, and so is a reply that is refused.
func TestLogger_resume(t *testing.T) {
	var log logbook
	store := new(checkpoint.Memory)
	build := func() *orchestrator.Orchestrator {
		return solver(t, scripted.New(scripted.Calls(question("A?", "1"))), with(tools.AskUser()), stored(store), log.at(slog.LevelInfo, false))
	}
	res := ran(t, build(), task("go"))
	_, err := resumed(t, build(), "r", machine.Reply{WaitID: "other", Text: "canary"})
	require.Error(t, err)
	for e := range build().Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[0].ID, Text: "canary"})) {
		if e.Kind == machine.EventWaitEnded {
			break
		}
	}
	require.Equal(t, []string{"INFO run began", "INFO wait began", "INFO run ended", "WARN reply refused", "INFO run goes on", "INFO wait ended", "INFO run broke off"}, log.lines(t, "r"))
	require.NotContains(t, log.text.String(), "canary")
}

// bomb is a handler that panics.
type bomb struct{ enabled bool }

func (b bomb) Enabled(context.Context, slog.Level) bool {
	if !b.enabled {
		panic("enabled")
	}
	return true
}

func (bomb) Handle(context.Context, slog.Record) error { panic("handle") }
func (b bomb) WithAttrs([]slog.Attr) slog.Handler      { return b }
func (b bomb) WithGroup(string) slog.Handler           { return b }

// A handler that panics ends nothing.
func TestLogger_panics(t *testing.T) {
	for _, b := range []bomb{{enabled: true}, {enabled: false}} {
		talkative(t, func(c *orchestrator.Config) { c.Logger, c.LogContent = slog.New(b), true })
	}
}
