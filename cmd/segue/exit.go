package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
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
// succeeded.
func outcome(end orchestrator.RunFinished, err error, files *workfolder.Folder) error {
	code := exitFailed
	switch end.Status {
	case orchestrator.StatusDone:
		return nil
	case orchestrator.StatusWaiting:
		code, err = exitWaiting, waiting(end.Waits, files)
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

// waiting returns the error of a run that waits for a person. It says how to continue.
func waiting(waits []orchestrator.Wait, files *workfolder.Folder) error {
	approvals, protected, unknown, answers := 0, 0, 0, 0
	for _, w := range waits {
		switch {
		case w.Kind == orchestrator.WaitUnknown:
			unknown++
		case w.Kind != orchestrator.WaitApproval:
			answers++
		case files.Protection(w.Tool, w.Arguments) != "":
			protected++
			fallthrough
		default:
			approvals++
		}
	}
	var what, how []string
	if approvals > 0 {
		what = append(what, plaintext.Counted(approvals, "approval"))
	}
	switch {
	case protected > 0:
		what[0] += " (" + strconv.Itoa(protected) + " of protected files, which are asked about each time)"
		how = append(how, "with --approve never")
	case approvals > 0:
		how = append(how, "with --approve always or --approve never")
	}
	if answers > 0 {
		what, how = append(what, plaintext.Counted(answers, "answer")), append(how, "with the answer in the task or with --no-ask")
	}
	if unknown > 0 {
		what, how = append(what, plaintext.Counted(unknown, "decision")+" about calls that may have had their effect"), nil
	}
	otherwise := ""
	if len(how) > 0 {
		otherwise = ", or " + strings.Join(how, ", and ")
	}
	return fmt.Errorf("the run waits for %s, and nobody can be asked here; run it in a terminal%s", strings.Join(what, " and "), otherwise)
}
