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
