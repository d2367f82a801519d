package run

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// Outcome returns the error of a command whose run ended with end and err; nil if the run
// succeeded. on says how to go on.
func Outcome(end machine.RunFinished, err error, files *workfolder.Folder, on Ways) error {
	code := cli.ExitFailed
	switch end.Status {
	case machine.StatusDone:
		return noAnswer(end, on)
	case machine.StatusWaiting:
		code, err = cli.ExitWaiting, Waiting(end.Waits, files, on)
	case machine.StatusInterrupted:
		if errors.Is(err, orchestrator.ErrInterrupted) {
			code, err = bySignal(err)
		}
		err = fmt.Errorf("%w; go on with: %s", err, on.Resume)
	case machine.StatusTakenOver:
		err = fmt.Errorf("%w; see it with: %s", orchestrator.ErrTakenOver, on.Show)
	case machine.StatusLimit:
		code = cli.ExitLimit
	case machine.StatusStopped:
		code, _ = bySignal(err)
	default:
		if _, ok := errors.AsType[*llmclient.Error](err); ok {
			code = cli.ExitProvider
		}
	}
	if err == nil {
		err = fmt.Errorf("the run ended as %q", end.Status)
	}
	if hint := advice(code, err); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return &cli.ExitError{Code: code, Err: err}
}

// bySignal returns the exit code of a run that a signal or segue stop ended, and what to say.
func bySignal(err error) (int, error) {
	if e, ok := errors.AsType[*cli.SignalError](err); ok {
		return e.Code(), e
	}
	return cli.ExitInterrupted, errors.New("interrupted")
}

// noAnswer returns the error of a run that is done, if its answer holds nothing; otherwise nil.
func noAnswer(end machine.RunFinished, on Ways) error {
	if len(end.Output.Data) > 0 || strings.TrimSpace(end.Output.Text()) != "" {
		return nil
	}
	err := errors.New("the model gave no answer")
	if on.Show != "" {
		err = fmt.Errorf("%w; see what it did with: %s", err, on.Show)
	}
	return &cli.ExitError{Code: cli.ExitNoAnswer, Err: err}
}

// advice says what the user can do about an error of a run; "" if unknown.
func advice(code int, err error) string {
	if code == cli.ExitLimit {
		return limitAdvice(err)
	}
	asked, _ := errors.AsType[*llmclient.Error](err)
	switch code := llmclient.CodeOf(err); {
	case code == llmclient.CodeTimeout && asked.NoRetry:
		return "raise it with --idle-timeout, such as --idle-timeout 10m, or with limits.idle_timeout of the model"
	case asked != nil && asked.RetryAfter > 0 && code.Temporary():
		return "the server asks to try again " + After(asked.RetryAfter, time.Now())
	}
	switch llmclient.CodeOf(err) {
	case llmclient.CodeAuth:
		return "check OPENAI_API_KEY (with api anthropic ANTHROPIC_API_KEY), or what the api_key_env of the model names"
	case llmclient.CodeQuota:
		return "check the credit of the account"
	case llmclient.CodeNotFound:
		return "check --model and --base-url"
	case llmclient.CodeRateLimited, llmclient.CodeTimeout, llmclient.CodeTruncated:
		return "try again later"
	case llmclient.CodeUnavailable:
		return "check --base-url and the network, or try again later"
	case llmclient.CodeMalformedToolCall:
		return "take another model, or another --policy"
	case llmclient.CodeContextLength:
		return "shorten the task, say compact in the config of the agent, or take a model with a larger context"
	default:
		return ""
	}
}

// After says when a wait is over: by the clock, and how long that is.
func After(wait time.Duration, now time.Time) string {
	end, form := now.Add(wait), "15:04"
	switch days := end.YearDay() - now.YearDay(); {
	case wait < time.Minute:
		form = "15:04:05"
	case days != 0 || wait > 24*time.Hour:
		form = "2006-01-02 15:04"
	}
	return "at " + end.Format(form) + ", in " + short(wait)
}

// short returns a duration in hours and minutes, or in seconds if it is shorter than a minute.
func short(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	text := strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	if whole, ok := strings.CutSuffix(text, "h0m"); ok {
		return whole + "h"
	}
	return text
}

// limitAdvice is advice for limits: --max-steps limits steps and model calls.
func limitAdvice(err error) string {
	if strings.Contains(err.Error(), " rounds is reached, and the result is not good") { // of package workflow
		return "raise max_rounds of the loop"
	}
	if e, ok := errors.AsType[*machine.LimitError](err); ok && e.Limit != "steps" && e.Limit != "model_calls" {
		return ""
	}
	return "raise it with --max-steps"
}
