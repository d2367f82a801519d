package wire

import (
	"strings"

	"github.com/segue-go/segue/llmclient"
)

// classify returns the code of an error. It uses the provider's own code or type if that is known,
// then the words of the message, then the HTTP status.
func (e *ErrorBody) classify(status int) llmclient.Code {
	for _, name := range [...]string{e.code, e.inner, e.kind} {
		if code, ok := codeByName(strings.ToLower(name)); ok {
			return code
		}
	}
	if code, ok := e.byMessage(status); ok {
		return code
	}
	if status == 0 {
		return codeByKind(strings.ToLower(e.kind + " " + e.code))
	}
	return codeByStatus(status)
}

func codeByName(name string) (llmclient.Code, bool) {
	switch name {
	case "tool_use_failed":
		return llmclient.CodeMalformedToolCall, true
	case "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed":
		return llmclient.CodeContentFilter, true
	case "insufficient_quota", "billing_not_active", "billing_hard_limit_reached",
		"billing_error", "enforced_spend_limit_reached": // the last two: Anthropic
		return llmclient.CodeQuota, true
	case "invalid_api_key", "authentication_error", "permission_denied", "permission_error", "unauthenticated":
		return llmclient.CodeAuth, true
	case "model_not_found", "invalid_model", "deploymentnotfound", "not_found_error":
		return llmclient.CodeNotFound, true
	}
	return llmclient.CodeContextLength, saysTooLong(inName, name)
}

// The words by which providers describe other errors that have no code of their own, in lower case.
var (
	filterWords = []string{"content management policy", "content filter", "was flagged"}
	creditWords = []string{"insufficient balance", "insufficient credit", "more credits", "credit balance", "available credits"}
	spendWords  = []string{"credit balance is too low", "specified api usage limits"} // Anthropic, with status 400
	keyWords    = []string{"api key not valid", "incorrect api key", "invalid api key"}
	modelWords  = []string{"not a valid model"} // OpenRouter
)

func (e *ErrorBody) byMessage(status int) (llmclient.Code, bool) {
	text := strings.ToLower(e.Message)
	badRequest := status == 0 || status == 400 || status == 413 || status == 422
	limited := status == 0 && codeByKind(strings.ToLower(e.kind+" "+e.code)) == llmclient.CodeRateLimited
	switch {
	case badRequest && !limited && saysTooLong(plainly, text), (badRequest || status == 429) && saysTooLong(clearly, text):
		return llmclient.CodeContextLength, true
	case e.flagged, status < 500 && containsAny(text, filterWords):
		return llmclient.CodeContentFilter, true
	case (status == 403 || status == 429) && containsAny(text, creditWords), badRequest && containsAny(text, spendWords):
		return llmclient.CodeQuota, true
	case status == 400 && containsAny(text, keyWords): // Gemini, xAI
		return llmclient.CodeAuth, true
	case badRequest && containsAny(text, modelWords):
		return llmclient.CodeNotFound, true
	}
	return "", false
}

func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// codeByKind classifies an error without a status by the words in its type. An unknown type may be
// temporary.
func codeByKind(kind string) llmclient.Code {
	switch {
	case containsAny(kind, []string{"rate_limit", "too_many_requests", "resource_exhausted", "throttl"}):
		return llmclient.CodeRateLimited
	case strings.Contains(kind, "timeout"):
		return llmclient.CodeTimeout
	case strings.Contains(kind, "invalid"):
		return llmclient.CodeBadRequest
	default:
		return llmclient.CodeUnavailable
	}
}

func codeByStatus(status int) llmclient.Code {
	switch status {
	case 401, 403:
		return llmclient.CodeAuth
	case 402:
		return llmclient.CodeQuota
	case 404, 410:
		return llmclient.CodeNotFound
	case 408, 504, 524: // 524: Cloudflare
		return llmclient.CodeTimeout
	case 409, 429, 498: // 498: Groq, over capacity
		return llmclient.CodeRateLimited
	case 413:
		return llmclient.CodeContextLength
	}
	switch {
	case status >= 500:
		return llmclient.CodeUnavailable
	case status >= 400:
		return llmclient.CodeBadRequest
	default:
		return llmclient.CodeNotFound // a redirect that was not followed: the address has changed
	}
}
