package openairesponses_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openairesponses"
)

func TestErrors_ByStatus(t *testing.T) {
	for status, code := range map[int]llmclient.Code{
		400: llmclient.CodeBadRequest, 401: llmclient.CodeAuth, 402: llmclient.CodeQuota, 403: llmclient.CodeAuth,
		404: llmclient.CodeNotFound, 408: llmclient.CodeTimeout, 413: llmclient.CodeContextLength, 422: llmclient.CodeBadRequest,
		429: llmclient.CodeRateLimited, 500: llmclient.CodeUnavailable, 503: llmclient.CodeUnavailable, 504: llmclient.CodeTimeout, 304: llmclient.CodeNotFound,
	} {
		for _, body := range []string{`{"error":{"message":"it failed","type":"some_type","param":null,"code":null}}`, `it failed`, ``, `<html><title>it failed</title></html>`} {
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
				require.NotContains(t, err.Message, "<")
			}
		}
	}
}

func TestW13_W14_Bodies(t *testing.T) {
	for _, c := range []struct {
		status     int
		kind, name string
		message    string
		code       llmclient.Code
	}{
		{401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-***.", llmclient.CodeAuth},
		{404, "invalid_request_error", "model_not_found", "The model does not exist", llmclient.CodeNotFound},
		{429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota", llmclient.CodeQuota},
		{429, "requests", "rate_limit_exceeded", "Rate limit reached", llmclient.CodeRateLimited},
		{400, "invalid_request_error", "context_length_exceeded", "Your input exceeds the context window of this model.", llmclient.CodeContextLength},
		{400, "invalid_request_error", "invalid_prompt", "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", llmclient.CodeContentFilter},
		{400, "invalid_request_error", "image_content_policy_violation", "no", llmclient.CodeContentFilter},
		{400, "invalid_request_error", "invalid_image_url", "no", llmclient.CodeBadRequest},
		{400, "invalid_request_error", "missing_required_parameter", "Item 'rs_1' of type 'reasoning' was provided without its required following item.", llmclient.CodeBadRequest},
	} {
		body := fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":"input","code":%q}}`, c.message, c.kind, c.name)
		_, err := askWhole(t, say(t, c.status, "application/json", body))
		require.Equal(t, c.code, err.Code, c.name)
		require.Equal(t, c.name, err.Type)
		require.Equal(t, c.message, err.Message)
	}
}

// W-7: an error inside an answer that began well.
func TestW7_ErrorInsideAGoodAnswer(t *testing.T) {
	begun := stream(half()...)
	for name, c := range map[string]struct {
		body, kind string
		code       llmclient.Code
	}{
		"event: error":          {begun + stream(`{"type":"error","sequence_number":9,"code":"server_error","message":"it failed","param":null}`), "server_error", llmclient.CodeUnavailable},
		"error without a code":  {begun + stream(`{"type":"error","code":null,"message":"it failed","param":null}`), "", llmclient.CodeUnavailable},
		"error, nested":         {begun + stream(`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"it failed"}}`), "context_length_exceeded", llmclient.CodeContextLength},
		"rate limit":            {begun + stream(`{"type":"error","code":"rate_limit_exceeded","message":"it failed"}`), "rate_limit_exceeded", llmclient.CodeRateLimited},
		"error without a type":  {begun + stream(`{"error":{"code":429,"message":"it failed"}}`), "", llmclient.CodeRateLimited},
		"event: error, text":    {begun + "event: error\ndata: it failed\n\n", "", llmclient.CodeUnavailable},
		"failed":                {begun + stream(failed(`{"code":"server_error","message":"it failed"}`)), "server_error", llmclient.CodeUnavailable},
		"failed, rate limit":    {begun + stream(failed(`{"code":"rate_limit_exceeded","message":"it failed"}`)), "rate_limit_exceeded", llmclient.CodeRateLimited},
		"failed, a wrong image": {begun + stream(failed(`{"code":"image_parse_error","message":"it failed"}`)), "image_parse_error", llmclient.CodeBadRequest},
		"failed, a policy":      {begun + stream(failed(`{"code":"bio_policy","message":"it failed"}`)), "bio_policy", llmclient.CodeContentFilter},
		"failed, a prompt":      {begun + stream(failed(`{"code":"invalid_prompt","message":"it failed"}`)), "invalid_prompt", llmclient.CodeBadRequest},
		"failed, a time-out":    {begun + stream(failed(`{"code":"vector_store_timeout","message":"it failed"}`)), "vector_store_timeout", llmclient.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			s := say(t, 200, "text/event-stream", c.body)
			_, streamed := ask(t, s)
			_, fetched := askWhole(t, s)
			for _, err := range []*llmclient.Error{streamed, fetched} {
				require.NotNil(t, err)
				require.Equal(t, c.code, err.Code, err.Error())
				require.Equal(t, c.kind, err.Type)
				require.Equal(t, "it failed", err.Message)
				require.Equal(t, "half", err.Partial.Text())
				require.Equal(t, 200, err.Status)
			}
		})
	}
	for body, code := range map[string]llmclient.Code{
		speech{status: "failed", err: `{"code":"server_error","message":"m"}`}.whole(): llmclient.CodeUnavailable,
		speech{status: "failed"}.whole():                                               llmclient.CodeUnavailable,
		speech{status: "cancelled"}.whole():                                            llmclient.CodeUnavailable,
		speech{status: "queued"}.whole():                                               llmclient.CodeBadResponse,
		`{"error":{"message":"bad","type":"invalid_request_error"}}`:                   llmclient.CodeBadRequest,
		`{"status":503,"message":"down"}`:                                              llmclient.CodeUnavailable,
		`{"id":"c1","choices":[{"message":{"content":"hi"}}]}`:                         llmclient.CodeBadResponse,
		`[]`: llmclient.CodeBadResponse,
		`{}`: llmclient.CodeBadResponse,
	} {
		_, err := askWhole(t, sayJSON(t, body))
		require.NotNil(t, err, body)
		require.Equal(t, code, err.Code, body)
		require.NotEmpty(t, err.Message)
	}
	_, err := ask(t, sayEvents(t, `{"type":"response.failed","response":`+speech{}.response("completed", nil)+`}`))
	require.Equal(t, llmclient.CodeUnavailable, err.Code, "whatever the response says")
	_, err = askWhole(t, sayJSON(t, `{"id":"c1","choices":[]}`))
	require.Contains(t, err.Message, "the answer holds no output")
}

// failed is the last event of a response that failed.
func failed(err string) string {
	return `{"type":"response.failed","response":` + speech{err: err}.response("failed", nil) + `}`
}

// A response that failed says in words how long to wait.
func TestErrors_RetryAfterInTheBody(t *testing.T) {
	const limited = `{"code":"rate_limit_exceeded","message":"Rate limit reached on tokens per min. Please try again in 11.054s."}`
	for _, s := range []*server{
		sayEvents(t, failed(limited)),
		sayEvents(t, append(half(), `{"type":"error","code":"rate_limit_exceeded","message":"Please try again in 11.054s."}`)...),
		sayEvents(t, append(half(), `{"type":"error","error":`+limited+`}`)...),
		sayJSON(t, speech{err: limited}.response("failed", nil)),
		sayJSON(t, `[{"error":`+limited+`}]`),
		say(t, 429, "application/json", `[{"error":`+limited+`}]`),
	} {
		_, err := ask(t, s)
		require.Equal(t, llmclient.CodeRateLimited, err.Code, err)
		require.Equal(t, 11054*time.Millisecond, err.RetryAfter)
	}
}

// By default, temporary errors such as a rate limit or a broken stream are retried and reported.
func TestErrors_AreRetried(t *testing.T) {
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch asked++; asked {
		case 1:
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			_, _ = io.WriteString(w, stream(half()...))
		default:
			_, _ = io.WriteString(w, stream(speech{items: []part{text("whole")}}.events()...))
		}
	})
	resp, err := newClient(t, s, func(cfg *openairesponses.Config) { cfg.MaxRetries = 0 }).Complete(t.Context(), hello(), func(llmclient.Delta) {})
	require.NoError(t, err)
	require.Equal(t, "whole", resp.Message.Text())
	require.Len(t, resp.Attempts, 2)
	require.Equal(t, llmclient.CodeRateLimited, resp.Attempts[0].Code)
	require.Equal(t, llmclient.CodeTruncated, resp.Attempts[1].Code)

	asked = 0
	s = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("X-Should-Retry", "true")
		w.Header().Set("X-Request-Id", "req_1")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(503)
	})
	_, failed := askWhole(t, s, func(cfg *openairesponses.Config) { cfg.Options = []option.RequestOption{option.WithMaxRetries(5)} })
	require.Equal(t, 1, asked, "nobody but MaxRetries")
	require.Equal(t, "req_1", failed.RequestID)
	require.Equal(t, 2*time.Second, failed.RetryAfter)
}

func TestErrors_HoldNoSecret(t *testing.T) {
	const key, header, query = "sk-canary-0123456789", "canary-header-value", "canary-query-value"
	secretive := func(cfg *openairesponses.Config) {
		cfg.APIKey = key
		cfg.Options = []option.RequestOption{option.WithHeader("X-Api-Key", header), option.WithQuery("key", query)}
	}
	echo := func(r *http.Request) string {
		return fmt.Sprintf("you sent %s and %s and %s and %s", r.Header.Get("Authorization"), key, r.Header.Get("X-Api-Key"), r.URL.String())
	}
	for name, answer := range map[string]http.HandlerFunc{
		"json": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-Id", key)
			w.WriteHeader(401)
			_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":%q,"code":%q}}`, echo(r), key, header)
		},
		"text": func(w http.ResponseWriter, r *http.Request) { http.Error(w, echo(r), 500) },
		"failed": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, stream(failed(fmt.Sprintf(`{"code":%q,"message":%q}`, header, echo(r)))))
		},
		"event": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", echo(r))
		},
		"status": func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, `{"message":%q}`, echo(r)) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.test/"+key+"?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		},
		"cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := askWhole(t, serve(t, answer), secretive)
			require.NotNil(t, err)
			for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprint(errors.Unwrap(err)), err.RequestID, err.Type} {
				for _, secret := range []string{key, header, query, base64.StdEncoding.EncodeToString([]byte(key))} {
					require.NotContains(t, text, secret)
				}
			}
		})
	}
}

// A redirect to another server is not followed: neither the key nor the conversation goes there.
func TestRedirect(t *testing.T) {
	other := sayJSON(t, speech{}.whole())
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/v1/responses", status) })
		_, err := askWhole(t, s, func(cfg *openairesponses.Config) { cfg.MaxRetries = 3 })
		require.Equal(t, llmclient.CodeNotFound, err.Code, "to try again would not help")
		require.Contains(t, err.Message, "the server redirects to "+other.URL+"/v1/responses, and that is not followed")
	}
	body, head := other.sent()
	require.Empty(t, body)
	require.Empty(t, head)

	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/responses" {
			http.Redirect(w, r, "/v2/responses", http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, speech{items: []part{text("hi")}}.whole())
	})
	resp, err := askWhole(t, s)
	require.Equal(t, "hi", must(t, resp, err).Message.Text(), "on the same server it is followed")
	_, head = s.sent()
	require.Equal(t, "Bearer sk-canary-0123456789", head.Get("Authorization"))
}

func TestNew(t *testing.T) {
	for name, cfg := range map[string]openairesponses.Config{
		"no URL": {BaseURL: "::"}, "no scheme": {BaseURL: "api.example.com/v1"}, "other scheme": {BaseURL: "ftp://user:secret@example.com"},
		"query": {BaseURL: "https://example.com/v1?api-version=1"}, "key with break": {BaseURL: "https://example.com", APIKey: "secret\n"},
	} {
		client, err := openairesponses.New(cfg)
		require.Nil(t, client, name)
		var problem *llmclient.ConfigError
		require.ErrorAs(t, err, &problem, name)
		require.NotContains(t, err.Error(), "secret", name)
		require.Panics(t, func() { openairesponses.MustNew(cfg) })
	}
	s := sayJSON(t, speech{}.whole())
	t.Setenv("OPENAI_BASE_URL", s.URL+"/from/env")
	t.Setenv("OPENAI_API_KEY", "key-from-env")
	t.Setenv("OPENAI_ADMIN_KEY", "canary-admin")
	_, err := openairesponses.MustNew(openairesponses.Config{Model: "m", HTTPClient: s.Client()}).Complete(context.Background(), hello(), nil)
	require.NoError(t, err)
	_, head := s.sent()
	require.Equal(t, "Bearer key-from-env", head.Get("Authorization"))
	require.Equal(t, "/from/env/responses", s.path)
	_, err = openairesponses.MustNew(openairesponses.Config{Model: "m", BaseURL: s.URL, NoEnvironment: true, HTTPClient: s.Client()}).Complete(context.Background(), hello(), nil)
	require.NoError(t, err)
	_, head = s.sent()
	require.Empty(t, head.Get("Authorization"))

	_, err = openairesponses.MustNew(openairesponses.Config{}).Complete(context.Background(), hello(), nil)
	require.ErrorContains(t, err, "openairesponses: no model")
}

func TestErrors_Hints(t *testing.T) {
	s := say(t, 404, "text/plain", "404 page not found")
	_, err := askWhole(t, s, func(cfg *openairesponses.Config) { cfg.BaseURL = s.URL })
	require.Contains(t, err.Message, "asked "+s.URL+"/responses; most base URLs end in /v1")
	t.Setenv("OPENAI_API_KEY", "")
	_, err = askWhole(t, say(t, 401, "application/json", `{}`), func(cfg *openairesponses.Config) { cfg.APIKey = "" })
	require.Contains(t, err.Message, "no key was sent: set APIKey or OPENAI_API_KEY")
}

func TestAnswers_AreBounded(t *testing.T) {
	bound := func(cfg *openairesponses.Config) { cfg.MaxResponse = 100_000 }
	long := strings.Repeat("x", 200_000)
	for _, body := range []string{speech{items: []part{text(long)}}.whole(), stream(speech{items: []part{text(long)}}.events()...), "data: " + long} {
		_, err := ask(t, say(t, 200, "text/event-stream", body), bound)
		require.Equal(t, llmclient.CodeBadResponse, err.Code)
		require.Contains(t, err.Message, "100000 bytes")
	}
	var many speech
	for i := range 1100 {
		many.items = append(many.items, toolCall(fmt.Sprint("c", i), "f", "{}"))
	}
	for _, body := range []string{many.whole(), stream(many.events()...)} {
		_, err := ask(t, sayJSON(t, body))
		require.Equal(t, llmclient.CodeBadResponse, err.Code)
		require.Contains(t, err.Message, "1024 items")
	}
}
