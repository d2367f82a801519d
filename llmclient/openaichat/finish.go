package openaichat

import (
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// result returns the reply, or an error: an error object, a stream that ended too early, or no
// choice.
func (a *accumulator) result() (*llmclient.Response, *llmclient.Error) {
	if a.err != nil {
		return nil, wire.ErrorFromJSON(a.err)
	}
	if a.index == noIndex {
		return nil, a.missingChoice()
	}
	finish, err := a.reason()
	if err != nil {
		return nil, err
	}
	return &llmclient.Response{
		Message: a.message(isCut(finish)),
		Finish:  finish,
		Usage:   a.tokens(),
		Model:   a.model,
		ID:      a.id,
	}, nil
}

func isCut(r llmclient.FinishReason) bool {
	return r == llmclient.FinishLength || r == llmclient.FinishContentFilter
}

func (a *accumulator) missingChoice() *llmclient.Error {
	if a.done {
		return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "the answer holds no choice"}
	}
	return &llmclient.Error{Code: llmclient.CodeTruncated, Message: "empty response"}
}

// reason maps the finish reason. A missing or unknown one is derived from the content. That of calls
// stands without a call, too; see [wire.Exchange.WithCall].
func (a *accumulator) reason() (llmclient.FinishReason, *llmclient.Error) {
	switch name, _, _ := strings.Cut(strings.ToLower(a.finish), ":"); name { // Gemini: "content_filter: OTHER"
	case "length", "model_length", "max_tokens": // model_length: Mistral
		return llmclient.FinishLength, nil
	case "content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii": // from the second on: Gemini behind gateways
		return llmclient.FinishContentFilter, nil
	case "error", "abort", "insufficient_system_resource": // OpenRouter, Mistral; vLLM, SGLang; DeepSeek
		return "", &llmclient.Error{Code: llmclient.CodeUnavailable, Type: a.finish, Message: "the provider aborted the reply"}
	case "tool_calls", "function_call":
		if !a.refused {
			return llmclient.FinishToolCalls, nil
		}
	case "":
		if !a.done && (a.endless || !a.calls.complete()) {
			return "", &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the stream ended without a finish reason"}
		}
	}
	switch {
	case !a.calls.none():
		return llmclient.FinishToolCalls, nil
	case a.refused:
		return llmclient.FinishRefusal, nil
	default:
		return llmclient.FinishStop, nil
	}
}
