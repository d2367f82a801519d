package anthropic_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/tools"
)

func errorBody(kind, message string) string {
	return `{"type":"error","error":{"type":"` + kind + `","message":` + quote(message) + `},"request_id":"req_1"}`
}

// published are the errors of the provider's page, with what a caller can do about each:
// https://platform.claude.com/docs/en/api/errors, read in November 2026.
var published = []struct {
	status        int
	kind, message string
	code          llmclient.Code
}{
	{400, "invalid_request_error", "messages: at least one message is required", llmclient.CodeBadRequest},
	{400, "invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum", llmclient.CodeContextLength},
	{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again", llmclient.CodeContextLength},
	{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.", llmclient.CodeQuota},
	{400, "invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-12-01.", llmclient.CodeQuota},
	{400, "invalid_request_error", "Output blocked by content filtering policy", llmclient.CodeContentFilter},
	{401, "authentication_error", "invalid x-api-key", llmclient.CodeAuth},
	{402, "billing_error", "payment needed", llmclient.CodeQuota},
	{403, "permission_error", "not with this key", llmclient.CodeAuth},
	{404, "not_found_error", "model: claude-x", llmclient.CodeNotFound},
	{409, "conflict_error", "again", llmclient.CodeRateLimited},
	{413, "request_too_large", "Request exceeds the maximum size", llmclient.CodeContextLength},
	{429, "rate_limit_error", "too many input tokens per minute", llmclient.CodeRateLimited},
	{500, "api_error", "Internal server error", llmclient.CodeUnavailable},
	{504, "timeout_error", "Request timed out", llmclient.CodeTimeout},
	{529, "overloaded_error", "Overloaded", llmclient.CodeUnavailable},
}

func TestW13_W14_Errors(t *testing.T) {
	for _, c := range published {
		body := errorBody(c.kind, c.message)
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Request-Id", "req_1")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, body)
		})
		_, fetched := askWhole(t, s)
		_, streamed := ask(t, s)
		for _, err := range []*llmclient.Error{fetched, streamed} {
			require.NotNil(t, err)
			require.Equal(t, c.code, err.Code, body)
			require.Equal(t, c.status, err.Status)
			require.Equal(t, c.kind, err.Type)
			require.True(t, strings.HasPrefix(err.Message, c.message), err.Message)
			require.Equal(t, "req_1", err.RequestID)
			require.Equal(t, 7*time.Second, err.RetryAfter)
			require.Equal(t, "m1", err.Model)
			require.NotContains(t, err.Message, "/v1", "the address is right")
		}
	}
}

// The same errors in a stream, and in a whole answer of status 200.
func TestW7_ErrorInsideAGoodAnswer(t *testing.T) {
	for _, c := range published {
		body := errorBody(c.kind, c.message)
		half := append([]string{messageStart}, textBlock("0", "half")...)
		for _, text := range []string{events(append(half, body)...), events(half...) + "data: " + body + "\n\n", events(half...) + "event: error\ndata: " + body} {
			_, err := ask(t, say(t, 200, "text/event-stream", text))
			require.NotNil(t, err)
			if c.kind != "conflict_error" {
				require.Equal(t, c.code, err.Code, text)
			}
			require.Equal(t, c.kind, err.Type)
			require.Equal(t, c.message, err.Message)
			require.Equal(t, "half", err.Partial.Text())
			require.Equal(t, int64(10), err.Usage.Input)
		}
		_, err := askWhole(t, sayJSON(t, body))
		require.NotNil(t, err)
		require.Equal(t, c.message, err.Message)
	}
	_, err := ask(t, say(t, 200, "text/event-stream", "event: error\ndata: boom\n\n"))
	require.Equal(t, llmclient.CodeUnavailable, err.Code)
}

// A limit of spending has the status of a rate limit, and to wait a little does not help.
func TestErrors_spendLimit(t *testing.T) {
	_, err := ask(t, say(t, 429, "application/json", `{"type":"error","error":{"type":"rate_limit_error","message":"limit reached","details":{"error_code":"enforced_spend_limit_reached"}}}`))
	require.Equal(t, llmclient.CodeQuota, err.Code)
	require.False(t, err.Code.Temporary())
}

func TestErrors_answersThatHoldNoReply(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		code llmclient.Code
	}{
		"nothing":                {"", llmclient.CodeTruncated},
		"pings alone":            {events(ping, ping), llmclient.CodeTruncated},
		"a stop alone":           {events(messageStop), llmclient.CodeBadResponse},
		"no content":             {`{"type":"message","id":"m"}`, llmclient.CodeBadResponse},
		"another API":            {`{"choices":[{"message":{"content":"hi"}}]}`, llmclient.CodeBadResponse},
		"a status inside":        {`{"status":503,"message":"down"}`, llmclient.CodeUnavailable},
		"a web page":             {"<html>Log in</html>", llmclient.CodeBadResponse},
		"half a message":         {whole(`{"type":"text","text":"hi"}`, "end_turn")[:80], llmclient.CodeTruncated},
		"no JSON":                {`{"type":message}`, llmclient.CodeBadResponse},
		"no JSON in an event":    {events(messageStart) + "data: {nonsense}\n\n", llmclient.CodeBadResponse},
		"calls that do not come": {whole(``, "tool_use"), llmclient.CodeMalformedToolCall},
		"a block after its end":  {events(append([]string{messageStart}, append(textBlock("0", "hi"), textBlock("0", "there")[1:]...)...)...), llmclient.CodeBadResponse},
		"a text after another":   {events(append([]string{messageStart}, append(textBlock("0", "a")[:2], append(textBlock("1", "b"), textBlock("0", "c")[1])...)...)...), llmclient.CodeBadResponse},
		"an empty stream":        {events("[DONE]"), llmclient.CodeBadResponse},
		"too many blocks":        {whole(strings.Repeat(`{"type":"text","text":"x"},`, 5000)+`{"type":"text","text":"x"}`, "end_turn"), llmclient.CodeBadResponse},
	} {
		t.Run(name, func(t *testing.T) {
			for _, contentType := range []string{"application/json", "text/event-stream"} {
				_, err := ask(t, say(t, 200, contentType, c.body))
				require.NotNil(t, err)
				if !strings.HasPrefix(c.body, "<") || contentType == "application/json" {
					require.Equal(t, c.code, err.Code, err.Error())
				}
				require.Equal(t, 200, err.Status)
			}
		})
	}
}

// A reply that says that it calls a tool, and does not, is its text. Without one it is given back
// to the model.
func TestS3_6_toolUseWithoutACall(t *testing.T) {
	req := hello()
	req.Tools = []tools.Definition{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}
	ask := func(s *server) (*llmclient.Response, []llmclient.Notice, error) {
		var told []llmclient.Notice
		ctx := llmclient.WithNotify(t.Context(), func(n llmclient.Notice) { told = append(told, n) })
		resp, err := newClient(t, s).Complete(ctx, req, func(llmclient.Delta) {})
		return resp, told, err
	}
	for _, s := range []*server{sayJSON(t, whole(`{"type":"text","text":"I look."}`, "tool_use")), sayEvents(t, stream("tool_use", textBlock("0", "I look."))...)} {
		resp, told, err := ask(s)
		require.NoError(t, err)
		require.Equal(t, llmclient.FinishStop, resp.Finish)
		require.Equal(t, "I look.", resp.Message.Text())
		require.Len(t, told, 1)
		require.Equal(t, llmclient.NoticeNoCall, told[0].Kind)
	}
	thought := `{"type":"thinking","thinking":"I call f.","signature":"s"}`
	for _, s := range []*server{sayJSON(t, whole(thought, "tool_use")), sayJSON(t, whole(``, "tool_use")), sayEvents(t, stream("tool_use")...)} {
		_, told, err := ask(s)
		e := asError(t, err)
		require.Equal(t, llmclient.CodeMalformedToolCall, e.Code)
		require.Equal(t, int64(10), e.Usage.Input)
		require.Empty(t, told)
	}
	for stop, want := range map[string]llmclient.FinishReason{"max_tokens": llmclient.FinishLength, "refusal": llmclient.FinishRefusal} {
		resp, told, err := ask(sayJSON(t, whole(`{"type":"text","text":"I look."}`, stop)))
		require.NoError(t, err)
		require.Equal(t, want, resp.Finish)
		require.Empty(t, told)
	}
}

// A token is as secret as a key, in what CountTokens says too, and so is the password of an
// address.
func TestSecretsAreNeverInErrors(t *testing.T) {
	const token = "token-canary-9876543210"
	for _, body := range []string{errorBody("api_error", "you sent Bearer "+token), token, "{" + quote(token), "data: " + errorBody(token, token) + "\n\n"} {
		for _, status := range []int{200, 401, 500} {
			client := newClient(t, say(t, status, "", body), func(c *config) { c.AuthToken = token })
			_, err := client.Complete(t.Context(), hello(), func(llmclient.Delta) {})
			require.Error(t, err)
			_, counted := client.CountTokens(t.Context(), hello())
			require.NotContains(t, fmt.Sprintf("%v %+v %v %s", err, err, counted, asError(t, err).Type), "canary", body)
		}
	}
	unreachable := httptest.NewServer(nil)
	unreachable.Close()
	c, err := anthropic.New(config{Model: "m", MaxRetries: -1, NoEnvironment: true, BaseURL: strings.Replace(unreachable.URL, "http://", "http://user:password-canary@", 1)})
	require.NoError(t, err)
	_, err = c.Complete(t.Context(), hello(), nil)
	require.Equal(t, llmclient.CodeUnavailable, llmclient.CodeOf(err))
	require.NotContains(t, err.Error(), "canary")
	require.ErrorContains(t, err, "asked "+unreachable.URL+"/v1/messages")
}

func TestErrors_hints(t *testing.T) {
	_, err := askWhole(t, say(t, 401, "application/json", errorBody("authentication_error", "x-api-key header is required")), func(c *config) { c.APIKey = "" })
	require.Contains(t, err.Message, "no key was sent: set APIKey or ANTHROPIC_API_KEY")
	s := say(t, 404, "text/html", "<html>not here</html>")
	_, err = askWhole(t, s)
	require.Contains(t, err.Message, "asked "+s.URL+"/v1/messages")
	require.NotContains(t, err.Message, "end in /v1")
}

func TestConfigErrors(t *testing.T) {
	for field, cfg := range map[string]config{
		"APIKey":           {APIKey: "a\nb"},
		"AuthToken":        {AuthToken: "a\nb"},
		"BaseURL":          {BaseURL: "api.anthropic.com"},
		"MaxTokens":        {MaxTokens: -1},
		"Cache":            {Cache: "1d"},
		"Thinking.Mode":    {Thinking: anthropic.Thinking{Mode: "much"}},
		"Thinking.Budget":  {Thinking: anthropic.Thinking{Mode: anthropic.ThinkEnabled, Budget: 1023}},
		"Thinking.Display": {Thinking: anthropic.Thinking{Display: "omitted"}},
	} {
		_, err := anthropic.New(cfg)
		var problem *llmclient.ConfigError
		require.ErrorAs(t, err, &problem)
		require.Equal(t, field, problem.Field)
		require.Contains(t, err.Error(), "anthropic: "+field+": ")
		require.Panics(t, func() { anthropic.MustNew(cfg) })
	}
	for _, cfg := range []config{
		{Thinking: anthropic.Thinking{Mode: anthropic.ThinkEnabled, Budget: anthropic.DefaultMaxTokens}},
		{Thinking: anthropic.Thinking{Mode: anthropic.ThinkAdaptive, Budget: 2000}},
		{BaseURL: "https://x.example/v1?key=1"},
	} {
		_, err := anthropic.New(cfg)
		require.Error(t, err)
	}
}

// setEnvironment sets what the SDK reads by itself, to values that contain "canary".
func setEnvironment(t *testing.T, baseURL string) {
	t.Helper()
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "canary-key", "ANTHROPIC_AUTH_TOKEN": "canary-token", "ANTHROPIC_BASE_URL": baseURL, "ANTHROPIC_PROFILE": "canary-profile",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Gateway: canary-gateway", "ANTHROPIC_WEBHOOK_SIGNING_KEY": base64.StdEncoding.EncodeToString([]byte("canary")),
		"ANTHROPIC_IDENTITY_TOKEN": "canary-identity", "ANTHROPIC_FEDERATION_RULE_ID": "canary-rule", "ANTHROPIC_ORGANIZATION_ID": "canary-org",
	} {
		t.Setenv(name, value)
	}
}

func headText(t *testing.T, h http.Header) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, h.Write(&b))
	return b.String()
}

// Of the environment come the key, else the token, and the address; with NoEnvironment nothing.
func TestEnvironment(t *testing.T) {
	s := sayJSON(t, whole("", "end_turn"))
	setEnvironment(t, s.URL+"/v1/")
	ask := func(cfg config) http.Header {
		cfg.Model, cfg.HTTPClient, cfg.MaxRetries = "m", s.Client(), -1
		_, err := anthropic.MustNew(cfg).Complete(t.Context(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, "/v1/messages", s.Path())
		_, head := s.Sent()
		return head
	}
	head := ask(config{})
	require.Equal(t, "canary-key", head.Get("X-Api-Key"))
	require.Equal(t, 1, strings.Count(headText(t, head), "canary"))
	require.Equal(t, "Bearer own", ask(config{AuthToken: "own"}).Get("Authorization"))
	require.NotContains(t, headText(t, ask(config{AuthToken: "own"})), "canary")
	t.Setenv("ANTHROPIC_API_KEY", "")
	head = ask(config{})
	require.Equal(t, "Bearer canary-token", head.Get("Authorization"))
	require.Equal(t, 1, strings.Count(headText(t, head), "canary"))
	require.NotContains(t, headText(t, ask(config{NoEnvironment: true, BaseURL: s.URL})), "canary")
}

func TestNoEnvironment_server(t *testing.T) {
	setEnvironment(t, "http://192.0.2.1")
	var asked string
	c := anthropic.MustNew(config{Model: "m", MaxRetries: -1, NoEnvironment: true, HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(whole("", "end_turn"))), Request: r}, nil
	})}})
	_, err := c.Complete(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "https://api.anthropic.com/v1/messages", asked)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
