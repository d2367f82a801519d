package config

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// TestThinking_isSent holds what a server is sent against what the file says of a model, over HTTP.
func TestThinking_isSent(t *testing.T) {
	for name, tt := range map[string]struct {
		model string
		api   string            // that of the options
		want  map[string]string // keys of the body
	}{
		"chat":      {`{"model": "m", "effort": "low"}`, "", map[string]string{"reasoning_effort": `"low"`}},
		"responses": {`{"model": "m", "api": "responses", "effort": "low", "summary": "auto"}`, "", map[string]string{"reasoning": `{"effort":"low","summary":"auto"}`}},
		"anthropic": {
			`{"model": "m", "api": "anthropic", "effort": "low", "thinking": {"mode": "adaptive", "display": "omitted"}, "cache": "1h"}`, "",
			map[string]string{
				"output_config": `{"effort":"low"}`, "thinking": `{"type":"adaptive","display":"omitted"}`,
				"cache_control": `{"type":"ephemeral","ttl":"1h"}`, "max_tokens": "16000",
			},
		},
		"a budget of thoughts": {
			`{"model": "m", "api": "anthropic", "thinking": {"mode": "enabled", "budget": 20000}}`, "",
			map[string]string{"thinking": `{"type":"enabled","budget_tokens":20000}`, "max_tokens": "36000"},
		},
		"nothing": {model: `{"model": "m"}`, want: map[string]string{"reasoning_effort": ""}},
		"another API than the file's": {
			`{"model": "m", "api": "anthropic", "effort": "low", "thinking": {"mode": "adaptive"}, "cache": "1h"}`, "responses",
			map[string]string{"reasoning": `{"effort":"low"}`, "thinking": "", "cache_control": "", "output_config": ""},
		},
		"Anthropic's instead of the file's": {
			`{"model": "m", "api": "responses", "effort": "low", "summary": "auto"}`, "anthropic",
			map[string]string{"output_config": `{"effort":"low"}`, "reasoning": "", "summary": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var body map[string]json.RawMessage
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal(sent, &body)
				_, _ = io.WriteString(w, answers[path.Base(r.URL.Path)])
			}))
			defer server.Close()
			c, problems := parsed(`{"models": {"m": ` + tt.model + `}, "agents": {"a": {}}}`)
			require.Empty(t, problems)
			m := c.Models["m"]
			m.BaseURL = server.URL
			o := ClientOptions{API: tt.api, Getenv: func(string) string { return "" }}
			clients, err := newClients(&Config{File: File{Models: map[string]Model{"m": m}}}, o)
			require.NoError(t, err)
			client, err := clients.first(o, "m")
			require.NoError(t, err)
			reply, err := client.Complete(context.Background(), &llmclient.Request{Messages: messages.History{messages.UserText("hi")}}, nil)
			require.NoError(t, err)
			require.Equal(t, "done", reply.Message.Text())
			for key, want := range tt.want {
				require.Equal(t, want, string(body[key]), key)
			}
		})
	}
}

// TestStrategy_stops: so is the strategy that needs them, unless it has no tools.
func TestStrategy_stops(t *testing.T) {
	const models = `{"models": {"m": {"model": "m", "api": "responses"}, "c": {"model": "m"}, "f": {"model": "m", "fallbacks": ["c", "m"]}}, "agents": {"a": {"strategy": "react", `
	for agent, refused := range map[string]bool{
		`"model": "m"`: true, `"model": "f"`: true, `"model": "m", "tools": ["read_file"]`: true,
		`"model": "c"`: false, `"model": "m", "tools": []`: false,
	} {
		_, problems := parsed(models + agent + `}}}`)
		if !refused {
			require.Empty(t, problems, agent)
			continue
		}
		require.Len(t, problems, 1, agent)
		require.Contains(t, problems[0], "agents.a.strategy: react needs stop sequences, and the model m has api: responses, which has none: choose another strategy, or api: chat")
	}
	_, problems := parsed(`{"models": {"m": {"model": "m", "api": "responses"}}, "agents": {"a": {"strategy": "react"}}}`)
	require.Len(t, problems, 1)
}

// TestThinking_isChecked holds what config check says of settings that the API of a model does not
// have, or cannot use.
func TestThinking_isChecked(t *testing.T) {
	for model, want := range map[string]string{
		`"summary": "auto"`:                                                          `is for models with api: responses, and this one has api: chat`,
		`"thinking": {"mode": "adaptive"}`:                                           `is for models with api: anthropic, and this one has api: chat`,
		`"api": "responses", "cache": "5m"`:                                          `is for models with api: anthropic, and this one has api: responses`,
		`"api": "anthropic", "cache": "2h"`:                                          `must be one of "5m", "1h"`,
		`"api": "anthropic", "summary": "auto"`:                                      `is for models with api: responses, and this one has api: anthropic`,
		`"api": "anthropic", "thinking": {}`:                                         `mode`,
		`"api": "anthropic", "thinking": {"mode": "enabled"}`:                        `is 0; it is at least 1024`,
		`"api": "anthropic", "thinking": {"mode": "adaptive", "budget": 2000}`:       `only enabled has a budget`,
		`"api": "anthropic", "thinking": {"mode": "disabled", "display": "omitted"}`: `only adaptive and enabled have it`,
	} {
		_, problems := parsed("{\"models\": {\"m\": {\"model\": \"m\", " + model + "}}, \"agents\": {\"a\": {}}}")
		require.Len(t, problems, 1, model)
		require.Contains(t, problems[0], want, model)
	}
}
