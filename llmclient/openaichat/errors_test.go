package openaichat_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
)

func TestErrors_ByStatus(t *testing.T) {
	for status, code := range map[int]llmclient.Code{
		400: llmclient.CodeBadRequest, 401: llmclient.CodeAuth, 402: llmclient.CodeQuota, 403: llmclient.CodeAuth,
		404: llmclient.CodeNotFound, 408: llmclient.CodeTimeout, 409: llmclient.CodeRateLimited, 413: llmclient.CodeContextLength,
		418: llmclient.CodeBadRequest, 422: llmclient.CodeBadRequest, 429: llmclient.CodeRateLimited, 500: llmclient.CodeUnavailable,
		502: llmclient.CodeUnavailable, 503: llmclient.CodeUnavailable, 504: llmclient.CodeTimeout, 524: llmclient.CodeTimeout,
		529: llmclient.CodeUnavailable, 304: llmclient.CodeNotFound,
	} {
		for _, body := range []string{`{"error":{"message":"it failed","type":"some_type"}}`, `it failed`, ``, `<html><title>it failed</title></html>`} {
			if status == 304 {
				body = ""
			}
			s := say(t, status, "application/json", body)
			_, fetched := askWhole(t, s)
			_, streamed := ask(t, s)
			for _, err := range []*llmclient.Error{fetched, streamed} {
				require.NotNil(t, err)
				require.Equal(t, code, err.Code, "%d %s", status, body)
				require.Equal(t, status, err.Status)
				require.True(t, strings.HasPrefix(body, "<") || body == "" || strings.HasPrefix(err.Message, "it failed"), err.Message)
				require.NotContains(t, err.Message, "<")
			}
		}
	}
}

func TestW13_W14_W15_Bodies(t *testing.T) {
	for _, c := range []struct {
		status        int
		body          string
		code          llmclient.Code
		message, kind string
	}{
		{401, `{"error":{"message":"Incorrect API key provided: sk-***.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llmclient.CodeAuth, "Incorrect API key provided: sk-***.", "invalid_api_key"},
		{401, `{"detail":"Invalid API Key"}`, llmclient.CodeAuth, "Invalid API Key", ""},
		{401, `{"error":{"code":"401","message":"Access denied"}}`, llmclient.CodeAuth, "Access denied", ""},
		{401, `{"error":{"message":"No cookie auth credentials found","code":401}}`, llmclient.CodeAuth, "No cookie auth credentials found", ""},
		{401, `{"message":"Unauthorized","request_id":"x"}`, llmclient.CodeAuth, "Unauthorized", ""},
		{401, `{"error":"no key"}`, llmclient.CodeAuth, "no key", ""},
		{401, `{"error":{"error":{"message":"deep"}}}`, llmclient.CodeAuth, "deep", ""},
		{400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llmclient.CodeAuth, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"},
		{404, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`, llmclient.CodeNotFound, "The model does not exist", "model_not_found"},
		{400, `{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500"}`, llmclient.CodeNotFound, "Invalid model: x", "invalid_model"},
		{400, `{"error":{"message":"gpt-9 is not a valid model ID","code":400}}`, llmclient.CodeNotFound, "gpt-9 is not a valid model ID", ""},
		{422, `{"detail":[{"loc":["body","x"],"msg":"field required","type":"missing"},{"msg":"extra"}]}`, llmclient.CodeBadRequest, "field required; extra", "missing"},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llmclient.CodeQuota, "You exceeded your current quota", "insufficient_quota"},
		{402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, llmclient.CodeQuota, "Insufficient Balance", "invalid_request_error"},
		{403, `{"code":"x","error":"Your team has used all available credits"}`, llmclient.CodeQuota, "Your team has used all available credits", "x"},
		{429, `{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"model is temporarily rate-limited"}}}`, llmclient.CodeRateLimited, "Provider returned error; model is temporarily rate-limited", ""},
		{429, `{"error":{"message":"Too many tokens, please wait"}}`, llmclient.CodeRateLimited, "Too many tokens, please wait", ""},

		// W-14: the context is too long, in different words
		{400, `{"error":{"message":"This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens.","type":"invalid_request_error","code":"invalid_request_error"}}`, llmclient.CodeContextLength, "", ""},
		{400, `{"error":{"message":"prompt too long; exceeded max context length by 1119046 tokens","type":"invalid_request_error","code":null}}`, llmclient.CodeContextLength, "", ""},
		{400, `{"error":{"message":"This endpoint's maximum context length is 200000 tokens.","code":400}}`, llmclient.CodeContextLength, "", ""},
		{400, `{"error":{"message":"Input tokens exceed the configured limit","code":"context_length_exceeded"}}`, llmclient.CodeContextLength, "", ""},
		{400, `{"error":{"message":"The input token count (1196265) exceeds the maximum number of tokens allowed","code":400}}`, llmclient.CodeContextLength, "", ""},
		{400, `{"error":{"message":"Bad request","code":"too_many_prompt_tokens"}}`, llmclient.CodeContextLength, "", ""},
		{429, `{"error":{"message":"Request too large for gpt-4o: Limit 30000, Requested 50000. The input must be reduced.","code":"429"}}`, llmclient.CodeContextLength, "", ""},
		{500, `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llmclient.CodeContextLength, "", ""},

		{400, `{"error":{"message":"The response was filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llmclient.CodeContentFilter, "", "content_filter"},
		{400, `{"error":{"message":"x","code":"bad","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llmclient.CodeContentFilter, "", "bad"},
		{403, `{"error":{"code":403,"message":"moderation","metadata":{"reasons":["violence"],"flagged_input":"…"}}}`, llmclient.CodeContentFilter, "", ""},
	} {
		_, err := askWhole(t, say(t, c.status, "application/json", c.body))
		require.NotNil(t, err)
		require.Equal(t, c.code, err.Code, c.body)
		if c.message != "" {
			require.Equal(t, c.message, err.Message)
			require.Equal(t, c.kind, err.Type)
		}
	}
}

func TestW15_ToolUseFailedCarriesWhatWasGenerated(t *testing.T) {
	_, err := askWhole(t, say(t, 400, "application/json", `{"error":{"message":"Tool call validation failed","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"{\"name\": \"f\"}"}}`))
	require.Equal(t, llmclient.CodeMalformedToolCall, err.Code)
	require.Equal(t, `{"name": "f"}`, err.Generated)
	require.False(t, err.Code.Temporary())
}

// Errors that a wrong address or key may cause say what to check, and contain no secret.
func TestErrors_Hints(t *testing.T) {
	page := "<!doctype html><title>Not here</title>"
	for name, c := range map[string]struct {
		status      int
		contentType string
		body        string
		path        string
		key         string
		want, not   string
	}{
		"no /v1":            {404, "text/plain", "404 page not found", "", "sk-secret-0123", "asked %s/chat/completions; most base URLs end in /v1, and this one does not", "secret"},
		"too much":          {404, "text/plain", "404 page not found", "/v1/chat/completions", "sk-secret-0123", "asked %s/chat/completions; the base URL must end before /chat/completions)", "most"},
		"a site":            {200, "text/html; charset=utf-8", page, "", "sk-secret-0123", "the answer is a page of HTML, and not JSON; asked %s/chat/completions; most base URLs", "<"},
		"a proxy":           {502, "text/html", page, "/v1", "sk-secret-0123", "the answer is a page of HTML, and not JSON; asked %s/chat/completions)", "most"},
		"Azure":             {405, "text/plain", "no", "/openai/v1/", "sk-secret-0123", "asked %schat/completions)", "most"},
		"no key":            {401, "application/json", `{"error":{"message":"Who are you?"}}`, "/v1", "", "Who are you? (no key was sent: set APIKey or OPENAI_API_KEY)", "asked"},
		"a wrong key":       {401, "application/json", `{"error":{"message":"Who are you?"}}`, "/v1", "sk-secret-0123", "Who are you?", "("},
		"an unknown model":  {404, "application/json", `{"error":{"message":"no model m","code":"model_not_found"}}`, "/v1", "k", "no model m", "asked"},
		"an address, in v2": {404, "application/json", `{"error":{"message":"no such path"}}`, "/v2", "k", "no such path (asked %s/chat/completions)", "most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OPENAI_API_KEY", "")
			s := say(t, c.status, c.contentType, c.body)
			client, err := openaichat.New(openaichat.Config{Model: "test-model", APIKey: c.key, BaseURL: s.URL + c.path, HTTPClient: s.Client(), MaxRetries: -1})
			require.NoError(t, err)
			_, err = client.Complete(t.Context(), hello(), nil)
			e := asError(t, err)
			require.Contains(t, e.Message, strings.ReplaceAll(c.want, "%s", s.URL+c.path))
			require.NotContains(t, e.Message, c.not)
		})
	}
}

func TestErrors_BodiesAreBounded(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		junk := strings.Repeat("long ", 1<<16)
		for range 30 {
			if _, err := io.WriteString(w, junk); err != nil {
				return
			}
		}
	})
	_, err := askWhole(t, s)
	require.Equal(t, llmclient.CodeBadRequest, err.Code)
	require.Less(t, len(err.Message), 2100)
}

func TestErrors_ConnectionRefused(t *testing.T) {
	s := sayJSON(t, "{}")
	client := newClient(t, s)
	s.Close()
	_, err := client.Complete(context.Background(), hello(), nil)
	e := asError(t, err)
	require.Equal(t, llmclient.CodeUnavailable, e.Code)
	require.Zero(t, e.Status)
	require.Contains(t, err.Error(), "asked "+s.URL+"/v1/chat/completions")
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	for name, cfg := range map[string]openaichat.Config{
		"no URL":         {BaseURL: "::"},
		"no scheme":      {BaseURL: "api.example.com/v1"},
		"other scheme":   {BaseURL: "ftp://user:secret@example.com"},
		"query":          {BaseURL: "https://example.com/v1?api-version=1"},
		"key with break": {BaseURL: "https://example.com", APIKey: "secret\n"},
		"reasoning":      {Reasoning: "sometimes"},
		"token field":    {TokenField: "tokens"},
	} {
		client, err := openaichat.New(cfg)
		require.Nil(t, client, name)
		require.ErrorContains(t, err, "openaichat: ", name)
		require.NotContains(t, err.Error(), "secret", name)
	}
}

func TestNew_ReadsTheEnvironment(t *testing.T) {
	s := sayJSON(t, doneBody)
	t.Setenv("OPENAI_BASE_URL", s.URL+"/from/env")
	t.Setenv("OPENAI_API_KEY", "key-from-env")
	client, err := openaichat.New(openaichat.Config{Model: "m", MaxRetries: -1, HTTPClient: s.Client()})
	require.NoError(t, err)
	_, err = client.Complete(context.Background(), hello(), nil)
	require.NoError(t, err)
	_, head := s.Sent()
	require.Equal(t, "Bearer key-from-env", head.Get("Authorization"))
	require.Equal(t, "/from/env/chat/completions", s.Path())

	t.Setenv("OPENAI_API_KEY", "")
	client, err = openaichat.New(openaichat.Config{Model: "m", MaxRetries: -1, BaseURL: s.URL, HTTPClient: s.Client()})
	require.NoError(t, err)
	_, err = client.Complete(context.Background(), hello(), nil)
	require.NoError(t, err)
	_, head = s.Sent()
	require.Empty(t, head.Get("Authorization"), "no key is no error")
	require.Equal(t, "/chat/completions", s.Path())

	t.Setenv("OPENAI_BASE_URL", "")
	_, err = openaichat.New(openaichat.Config{})
	require.NoError(t, err)
}
