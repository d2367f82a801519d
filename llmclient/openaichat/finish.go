package openaichat

import (
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Result implements [wire.Reply]. An error is an error object, a stream that ended too early, or no
// choice.
func (a *accumulator) Result() (*llmclient.Response, *llmclient.Error) {
	switch {
	case a.Err != nil:
		return nil, wire.ErrorFromJSON(a.Err)
	case a.index == noIndex && a.Done:
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "the answer holds no choice"}
	case a.index == noIndex:
		return nil, &llmclient.Error{Code: llmclient.CodeTruncated, Message: "empty response"}
	}
	finish, err := a.reason()
	if err != nil {
		return nil, err
	}
	return &llmclient.Response{Message: a.message(wire.IsCut(finish)), Finish: finish, Usage: a.usage.Usage}, nil
}

// reason maps the finish reason. A missing or unknown one is derived from the content. That of
// calls stands without a call, too; see [wire.Exchange.WithCall].
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
		if !a.Done && (a.endless || !a.calls.complete()) {
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

// saysError reports whether an event without choices is an error in a form without "error": vLLM
// and SGLang mark the object itself, FastAPI has "detail", Cloudflare has "errors".
func saysError(data []byte) bool {
	if len(jsonform.Member(data, "choices")) > 0 {
		return false
	}
	for _, name := range [...]string{"object", "type"} {
		if string(jsonform.Member(data, name)) == `"error"` {
			return true
		}
	}
	for _, name := range [...]string{"detail", "errors"} {
		switch string(jsonform.Member(data, name)) {
		case "", "null", "[]", "{}", `""`:
		default:
			return true
		}
	}
	return false
}
