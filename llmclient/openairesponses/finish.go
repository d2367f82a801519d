package openairesponses

import (
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Result implements [wire.Reply]. An error is an error object, a response that failed, or a stream
// that ended too early.
func (a *accumulator) Result() (*llmclient.Response, *llmclient.Error) {
	if a.Err != nil {
		return nil, refined(wire.ErrorFromJSON(a.Err))
	}
	finish, err := a.finishReason()
	if err == nil {
		err = a.settle(finish)
	}
	if err != nil {
		return nil, err
	}
	a.handOn(kindReasoning, true)
	a.handOn(kindMessage, true)
	return &llmclient.Response{Message: a.message(wire.IsCut(finish)), Finish: finish, Usage: a.usage}, nil
}

// settle adds texts with which items began and that have not come again. It returns an error if
// what was told of a text or of arguments truly differs, or if arguments are missing. A text that
// came with half characters, which read as U+FFFD, cannot be compared.
func (a *accumulator) settle(finish llmclient.FinishReason) *llmclient.Error {
	for _, o := range a.items {
		if o.kind == kindCall {
			args, agree := o.arguments()
			if !agree || o.incomplete && wire.NoArguments(args) && !wire.IsCut(finish) {
				return wire.Contradiction(string(o.name))
			}
			continue
		}
		a.rest(o, 0, o.announced)
		if o.differs && o.kind == kindMessage && !strings.Contains(o.text.String(), "\ufffd") {
			return wire.Contradiction("")
		}
	}
	return nil
}

// finishReason derives the reason from the status and the content.
func (a *accumulator) finishReason() (llmclient.FinishReason, *llmclient.Error) {
	if !a.ended && !a.wholeWithoutEnd() {
		return "", &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the stream ended before the response was complete"}
	}
	switch a.status {
	case "incomplete":
		if a.reason == "content_filter" {
			return llmclient.FinishContentFilter, nil
		}
		return llmclient.FinishLength, nil
	case "failed", "cancelled":
		return "", &llmclient.Error{Code: llmclient.CodeUnavailable, Type: a.status, Message: "the provider aborted the response"}
	case "queued", "in_progress":
		return "", &llmclient.Error{Code: llmclient.CodeBadResponse, Type: a.status, Message: "the response is not there yet: the server answers in the background"}
	}
	switch {
	case a.calls > 0:
		return llmclient.FinishToolCalls, nil
	case a.refused:
		return llmclient.FinishRefusal, nil
	default:
		return llmclient.FinishStop, nil
	}
}

// wholeWithoutEnd reports whether [DONE] came without the last event of the response, but every
// item is there as a whole.
func (a *accumulator) wholeWithoutEnd() bool {
	for _, o := range a.items {
		if !o.done {
			return false
		}
	}
	return a.Done && len(a.items) > 0
}

// refined gives an error the code for what only this API says.
func refined(err *llmclient.Error) *llmclient.Error {
	if err.Type == "error" {
		err.Type = "" // the type of the event
	}
	switch kind := strings.ToLower(err.Type); {
	case err.Code != llmclient.CodeUnavailable && err.Code != llmclient.CodeBadRequest:
	case strings.HasSuffix(kind, "_policy"), strings.HasSuffix(kind, "_policy_violation"):
		err.Code = llmclient.CodeContentFilter
	case err.Status == 0 && (strings.Contains(kind, "image") || kind == "data_residency_mismatch"):
		err.Code = llmclient.CodeBadRequest
	}
	return err
}
