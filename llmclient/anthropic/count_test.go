package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// The form is that of https://platform.claude.com/docs/en/build-with-claude/token-counting, read in
// November 2026.
func TestCountTokens(t *testing.T) {
	s := sayJSON(t, `{ "input_tokens": 2095 }`)
	req := hello()
	temperature := 0.5
	req.Tools, req.MaxTokens, req.Stop, req.Temperature = []tools.Definition{{Name: "f"}}, 7, []string{"END"}, &temperature
	req.Extras = messages.Extras{"metadata": json.RawMessage(`{}`), "output_config": json.RawMessage(`{"effort":"low"}`)}
	thinks := func(c *config) { c.Thinking = anthropic.Thinking{Mode: anthropic.ThinkEnabled, Budget: 2000} }
	n, err := newClient(t, s, thinks).CountTokens(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, int64(2095), n)
	body, head := s.Sent()
	require.Equal(t, "/v1/messages/count_tokens", s.Path())
	require.Equal(t, canary, head.Get("X-Api-Key"))
	require.Equal(t, `{"model":"m1","tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],`+
		`"thinking":{"type":"enabled","budget_tokens":2000},"output_config":{"effort":"low"}}`, body)
}

// Gateways write all fields of their type for an answer.
func TestCountTokens_noError(t *testing.T) {
	n, err := newClient(t, sayJSON(t, `{"input_tokens":3,"error":null}`)).CountTokens(t.Context(), hello())
	require.NoError(t, err)
	require.Equal(t, int64(3), n)
}

func TestCountTokens_errors(t *testing.T) {
	for body, code := range map[string]llmclient.Code{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`: llmclient.CodeUnavailable,
		`{}`:                       llmclient.CodeBadResponse,
		`{"input_tokens":"many"}`:  llmclient.CodeBadResponse,
		`{"input_tokens":`:         llmclient.CodeBadResponse,
		"":                         llmclient.CodeTruncated,
		events(messageStart, ping): llmclient.CodeBadResponse,
	} {
		_, err := newClient(t, sayJSON(t, body)).CountTokens(t.Context(), hello())
		require.Equal(t, code, llmclient.CodeOf(err), body)
	}
	_, err := newClient(t, say(t, 404, "application/json", errorBody("not_found_error", "model: m1"))).CountTokens(t.Context(), hello())
	require.Equal(t, llmclient.CodeNotFound, llmclient.CodeOf(err))
	require.Equal(t, "m1", asError(t, err).Model)
	_, err = newClient(t, sayJSON(t, `{"input_tokens":1}`)).CountTokens(t.Context(), one())
	require.Equal(t, llmclient.CodeBadRequest, llmclient.CodeOf(err))

	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(529)
			return
		}
		_, _ = io.WriteString(w, `{"input_tokens":3}`)
	})
	n, err := newClient(t, s, func(c *config) { c.MaxRetries = 1 }).CountTokens(t.Context(), hello())
	require.NoError(t, err)
	require.Equal(t, int64(3), n)
}

// The form is that of https://platform.claude.com/docs/en/api/models-list, read in November 2026.
func TestModels(t *testing.T) {
	var asked []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		if r.URL.Query().Get("after_id") == "" {
			_, _ = io.WriteString(w, `{"data":[{"id":"claude-a","type":"model","display_name":"Claude A","created_at":"2026-02-04T00:00:00Z","max_input_tokens":200000,"max_tokens":64000}],"has_more":true,"first_id":"claude-a","last_id":"claude-a"}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"claude-b","type":"model","display_name":"Claude B"}],"has_more":false,"last_id":"claude-b"}`)
	})
	list, err := newClient(t, s).Models(t.Context())
	require.NoError(t, err)
	require.Equal(t, []anthropic.Model{{ID: "claude-a", Name: "Claude A", MaxInput: 200000, MaxOutput: 64000}, {ID: "claude-b", Name: "Claude B"}}, list)
	require.Equal(t, []string{"GET /v1/models?limit=1000", "GET /v1/models?limit=1000&after_id=claude-a"}, asked)

	broken := say(t, 401, "application/json", errorBody("authentication_error", "invalid x-api-key"))
	_, err = newClient(t, broken).Models(t.Context())
	require.Equal(t, llmclient.CodeAuth, llmclient.CodeOf(err))
	endless := sayJSON(t, `{"data":[{"id":"x"}],"has_more":true,"last_id":"x"}`)
	list, err = newClient(t, endless).Models(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 20)
}
