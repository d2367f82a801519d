package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
)

// TestOutcome holds the exit codes, and what the user is told to do.
func TestOutcome(t *testing.T) {
	provider := func(code llmclient.Code) error {
		return delegation.NewError(delegation.Code(code), &llmclient.Error{Code: code, Message: "m"})
	}
	limit := func(name string) error {
		return delegation.NewError(delegation.CodeLimit, &machine.LimitError{Run: "r", Frame: "0", Limit: name, Max: 2})
	}
	plainLimit := &delegation.Error{Code: delegation.CodeLimit, Message: "completetask: the limit of 50 model calls is reached"}
	rounds := &delegation.Error{Code: delegation.CodeLimit, Message: "workflow: the limit of 2 rounds is reached, and the result is not good"}
	for _, tt := range []struct {
		status machine.Status
		err    error
		code   int
		text   string
	}{
		{machine.StatusDone, nil, cli.ExitDone, ""},
		{machine.StatusDone, nil, cli.ExitNoAnswer, "the model gave no answer"},
		{machine.StatusFailed, errors.New("x"), cli.ExitFailed, "x"},
		{machine.StatusFailed, nil, cli.ExitFailed, `the run ended as "failed"`},
		{machine.StatusLimit, limit("steps"), cli.ExitLimit, "machine: frame 0: the limit of 2 steps is reached; raise it with --max-steps"},
		{machine.StatusLimit, limit("depth"), cli.ExitLimit, "machine: frame 0: the limit of 2 depth is reached"},
		{machine.StatusLimit, plainLimit, cli.ExitLimit, plainLimit.Message + "; raise it with --max-steps"},
		{machine.StatusLimit, rounds, cli.ExitLimit, rounds.Message + "; raise max_rounds of the loop"},
		{machine.StatusStopped, errors.New("x"), cli.ExitInterrupted, "x"},
		{machine.StatusFailed, provider(llmclient.CodeAuth), cli.ExitProvider, "llmclient: auth: m; check OPENAI_API_KEY (with api anthropic ANTHROPIC_API_KEY), or what the api_key_env of the model names"},
		{machine.StatusFailed, provider(llmclient.CodeQuota), cli.ExitProvider, "llmclient: quota: m; check the credit of the account"},
		{machine.StatusFailed, provider(llmclient.CodeNotFound), cli.ExitProvider, "llmclient: not_found: m; check --model and --base-url"},
		{machine.StatusFailed, provider(llmclient.CodeRateLimited), cli.ExitProvider, "llmclient: rate_limited: m; try again later"},
		{machine.StatusFailed, provider(llmclient.CodeUnavailable), cli.ExitProvider, "llmclient: unavailable: m; check --base-url and the network, or try again later"},
		{machine.StatusFailed, provider(llmclient.CodeMalformedToolCall), cli.ExitProvider, "llmclient: malformed_tool_call: m; take another model, or another --policy"},
		{machine.StatusFailed, provider(llmclient.CodeContextLength), cli.ExitProvider, "llmclient: context_length: m; shorten the task, say compact in the config of the agent, or take a model with a larger context"},
		{machine.StatusFailed, &llmclient.Error{Code: llmclient.CodeTimeout, NoRetry: true}, cli.ExitProvider, "llmclient: timeout; raise it with --idle-timeout, such as --idle-timeout 10m, or with limits.idle_timeout of the model"},
		{machine.StatusFailed, provider(llmclient.CodeBadRequest), cli.ExitProvider, "llmclient: bad_request: m"},
	} {
		end := machine.RunFinished{Status: tt.status}
		if tt.status == machine.StatusDone && tt.code == cli.ExitDone {
			result := "an answer"
			end.Output.Result = &result
		}
		err := run.Outcome(end, tt.err, nil, run.Ways{})
		require.Equal(t, tt.code, cli.ExitCode(err), "%v", tt)
		if tt.text != "" {
			require.EqualError(t, err, tt.text)
		}
		if tt.err != nil {
			require.ErrorIs(t, err, tt.err)
		}
	}
	require.Equal(t, cli.ExitUsage, cli.ExitCode(errors.New("unknown flag")))
}

// TestOutcome_waiting says how to go on with what a run waits for.
func TestOutcome_waiting(t *testing.T) {
	approval, answer := machine.Wait{Kind: machine.WaitApproval}, machine.Wait{Kind: machine.WaitQuestion}
	unknown := machine.Wait{Kind: machine.WaitUnknown}
	for _, tt := range []struct {
		waits []machine.Wait
		text  string
	}{
		{[]machine.Wait{approval}, "the run waits for 1 approval, and nobody can be asked here; run it in a terminal, or with --approve always or --approve never"},
		{[]machine.Wait{answer, answer}, "the run waits for 2 answers, and nobody can be asked here; run it in a terminal, or with the answer in the task or without --ask"},
		{[]machine.Wait{unknown, approval}, "the run waits for 1 approval and 1 decision about calls that may have had their effect, and nobody can be asked here; run it in a terminal"},
		{[]machine.Wait{answer, approval}, "the run waits for 1 approval and 1 answer, and nobody can be asked here; run it in a terminal, or with --approve always or --approve never, and with the answer in the task or without --ask"},
	} {
		err := run.Outcome(machine.RunFinished{Status: machine.StatusWaiting, Waits: tt.waits}, nil, nil, run.Ways{})
		require.Equal(t, cli.ExitWaiting, cli.ExitCode(err))
		require.EqualError(t, err, tt.text)
	}
	always := run.Ways{Anyway: map[string]machine.ApprovalPolicy{"wipe": machine.AskAlways}}
	wipe := machine.Wait{Kind: machine.WaitApproval, Tool: "wipe"}
	require.EqualError(t, run.Waiting([]machine.Wait{wipe, approval}, nil, always), "the run waits for 2 approvals (1 of tools that always ask), and nobody can be asked here; run it in a terminal, or with --approve never")
	err := run.Outcome(machine.RunFinished{Status: machine.StatusWaiting, Waits: []machine.Wait{approval, answer}}, nil, nil, run.Ways{Asked: true})
	require.EqualError(t, err, "the run waits for 1 approval and 1 answer, and was given none; run it again, or with --approve always or --approve never, and with the answer in the task or with --no-ask")
	err = run.Outcome(machine.RunFinished{Status: machine.StatusWaiting, Waits: []machine.Wait{answer}}, nil, nil, run.Ways{Resume: "segue resume 1", Answer: "segue answer 1", Show: "segue show 1", Asked: true})
	require.EqualError(t, err, "the run waits for 1 answer, and was given none; go on with: segue resume 1; or answer with: segue answer 1")
}

// TestREADME holds the exit codes and the flags in README.md against the code.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(text), "## Exit codes\n\n| code | means |\n|---|---|\n")
	require.True(t, ok)
	for _, status := range cli.ExitStatuses {
		row := fmt.Sprintf("| %d | %s |\n", status.Code, status.Means)
		require.True(t, strings.HasPrefix(after, row), row)
		after = after[len(row):]
		require.Contains(t, about, fmt.Sprintf("\n  %-4d %s\n", status.Code, status.Means))
	}
	require.True(t, strings.HasPrefix(after, "\n"), "and no other")
	cmd := run.Commands(&cli.CLI{})[0]
	for _, flag := range []string{"strategy", "model", "base-url", "system", "dir", "approve", "no-ask", "ask", "stdin", "max-steps", "config", "agent", "source", "store", "output", "json", "quiet", "verbose"} {
		require.NotNil(t, cmd.Flags().Lookup(flag), flag)
		require.Contains(t, string(text), "--"+flag, flag)
	}
}

// TestAfter says when a rate limit is over.
func TestAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 16, 42, 30, 0, time.Local)
	for wait, want := range map[time.Duration]string{
		25 * time.Second:               "at 16:42:55, in 25s",
		3 * time.Minute:                "at 16:45, in 3m",
		time.Hour:                      "at 17:42, in 1h",
		90 * time.Minute:               "at 18:12, in 1h30m",
		10 * time.Hour:                 "at 2026-11-23 02:42, in 10h",
		49*time.Hour + 20*time.Second:  "at 2026-11-24 17:42, in 49h",
		8784*time.Hour + 0*time.Second: "at 2027-11-23 16:42, in 8784h",
	} {
		require.Equal(t, want, run.After(wait, now))
	}
	err := run.Outcome(machine.RunFinished{Status: machine.StatusFailed}, &llmclient.Error{Code: llmclient.CodeRateLimited, RetryAfter: time.Hour}, nil, run.Ways{})
	require.Regexp(t, `; the server asks to try again at .*\d\d:\d\d, in 1h$`, err.Error())
}
