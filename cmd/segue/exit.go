package main

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/orchestrator"
)

// The exit codes. They are part of the interface.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitLimit       = 3
	exitWaiting     = 4
	exitProvider    = 5
	exitInterrupted = 130 // as shells use for SIGINT
)

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

// Error returns the text of the cause.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *exitError) Unwrap() error { return e.err }

// failed returns an error with the exit code for a failed run.
func failed(err error) error { return &exitError{code: exitFailed, err: err} }

// exitCode returns the exit code for the error of a command. An error without a code happened
// before any work began.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitUsage
}

// outcome returns the error of a command whose run ended with end and err; nil if the run
// succeeded. on says how to go on.
func outcome(end orchestrator.RunFinished, err error, files *workfolder.Folder, on ways) error {
	code := exitFailed
	switch end.Status {
	case orchestrator.StatusDone:
		return nil
	case orchestrator.StatusWaiting:
		code, err = exitWaiting, waiting(end.Waits, files, on)
	case orchestrator.StatusInterrupted:
		if errors.Is(err, orchestrator.ErrInterrupted) {
			code, err = exitInterrupted, errInterrupted
		}
		err = fmt.Errorf("%w; go on with: %s", err, on.resume)
	case orchestrator.StatusTakenOver:
		err = fmt.Errorf("%w; see it with: %s", orchestrator.ErrTakenOver, on.show)
	case orchestrator.StatusLimit:
		code = exitLimit
	case orchestrator.StatusStopped:
		code = exitInterrupted
	default:
		if _, ok := errors.AsType[*llmclient.Error](err); ok {
			code = exitProvider
		}
	}
	if err == nil {
		err = fmt.Errorf("the run ended as %q", end.Status)
	}
	if hint := advice(code, err); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return &exitError{code: code, err: err}
}

// advice says what the user can do about an error of a run; "" if unknown.
func advice(code int, err error) string {
	if code == exitLimit {
		return limitAdvice(err)
	}
	switch llmclient.CodeOf(err) {
	case llmclient.CodeAuth:
		return "check OPENAI_API_KEY, or what the api_key_env of the model names"
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
		return "shorten the task, or take a model with a larger context"
	default:
		return ""
	}
}

// limitAdvice is advice for limits: --max-steps limits steps and model calls.
func limitAdvice(err error) string {
	if e, ok := errors.AsType[*orchestrator.LimitError](err); ok && e.Limit != "steps" && e.Limit != "model_calls" {
		return ""
	}
	return "raise it with --max-steps"
}
