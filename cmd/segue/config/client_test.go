package config

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// heads is a server that keeps the header of each request as a text.
func heads(t *testing.T) (*httptest.Server, *[]string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		_ = r.Header.Write(&b)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, b.String())
		_, _ = io.WriteString(w, answers[path.Base(r.URL.Path)])
	}))
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(s.Close)
	return s, &seen
}

// answers are replies that say done, by the last part of the path of the request.
var answers = map[string]string{
	"messages":    `{"type":"message","role":"assistant","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}`,
	"responses":   `{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}]}`,
	"completions": isDoneBody,
}

const isDoneBody = `{"choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`

// TestClient_sends holds what each server is sent against what the environment and the file say,
// over the network.
func TestClient_sends(t *testing.T) {
	const (
		organization, project, gateway = "Openai-Organization: canary-org", "Openai-Project: canary-project", "X-Gateway: canary-gateway"
		openAI, own                    = "Bearer canary-openai", "Bearer canary-own"
	)
	named, other := "NAMED", "OTHER" // the server that the environment names, and another one
	for name, tt := range map[string]struct {
		model  Model
		found  bool
		want   []string
		refuse string
	}{
		"environment":                  {model: Model{}, want: []string{openAI, organization, project, gateway}},
		"environment, found":           {model: Model{}, found: true, want: []string{openAI, organization, project, gateway}},
		"environment, own key":         {model: Model{APIKeyEnv: "OWN"}, want: []string{own, organization, project, gateway}},
		"environment, own key, found":  {model: Model{APIKeyEnv: "OWN"}, found: true, want: []string{own, organization, project, gateway}},
		"same server":                  {model: Model{BaseURL: named + "/other/path", APIKeyEnv: endpoint.KeyVariable}, found: true, want: []string{openAI, organization, project, gateway}},
		"same server, no key":          {model: Model{BaseURL: named}, want: nil},
		"other server, no key":         {model: Model{BaseURL: other}, want: nil},
		"other server, no key, found":  {model: Model{BaseURL: other}, found: true, want: nil},
		"other server, own key":        {model: Model{BaseURL: other, APIKeyEnv: "OWN"}, want: []string{own}},
		"other server, own key, found": {model: Model{BaseURL: other, APIKeyEnv: "OWN"}, found: true, want: []string{own}},
		"other server, OpenAI's key":   {model: Model{BaseURL: other, APIKeyEnv: endpoint.KeyVariable}, want: []string{openAI}},
		"other server, OpenAI's key, found": {
			model: Model{BaseURL: other, APIKeyEnv: endpoint.KeyVariable}, found: true, refuse: "model m: OPENAI_API_KEY goes to HOST alone, the server of the environment; ",
		},
		"other server, administrator's key, found": {
			model: Model{BaseURL: other, APIKeyEnv: "OPENAI_ADMIN_KEY"}, found: true, refuse: "model m: OPENAI_ADMIN_KEY goes to HOST alone",
		},
		"other server, secret of webhooks, found": {
			model: Model{BaseURL: other, APIKeyEnv: "OPENAI_WEBHOOK_SECRET"}, found: true, refuse: "model m: OPENAI_WEBHOOK_SECRET goes to HOST alone",
		},
		"other server, headers, found": {
			model: Model{BaseURL: other, APIKeyEnv: "OPENAI_CUSTOM_HEADERS"}, found: true, refuse: "model m: OPENAI_CUSTOM_HEADERS goes to HOST alone",
		},
		"other server, Anthropic's key, found": {
			model: Model{BaseURL: other, APIKeyEnv: endpoint.AnthropicKeyVariable}, found: true, refuse: "model m: ANTHROPIC_API_KEY goes to api.anthropic.com:443 alone",
		},
		"Anthropic, other server, its key, found": {
			model:  Model{API: endpoint.Anthropic, BaseURL: other, APIKeyEnv: endpoint.AnthropicTokenVariable},
			found:  true,
			refuse: "model m: ANTHROPIC_AUTH_TOKEN goes to api.anthropic.com:443 alone",
		},
		"Anthropic, OpenAI's key, found": {
			model: Model{API: endpoint.Anthropic, APIKeyEnv: endpoint.KeyVariable}, found: true, refuse: "model m: OPENAI_API_KEY goes to HOST alone",
		},
		"Anthropic, server of OpenAI, no key":   {model: Model{API: endpoint.Anthropic, BaseURL: named}, want: nil},
		"Anthropic, other server, own key":      {model: Model{API: endpoint.Anthropic, BaseURL: other, APIKeyEnv: "OWN"}, want: []string{"X-Api-Key: canary-own"}},
		"Anthropic, other server, bearer token": {model: Model{API: endpoint.Anthropic, BaseURL: other, APIKeyEnv: endpoint.AnthropicTokenVariable}, want: []string{"Bearer canary-token"}},
		"Responses, environment":                {model: Model{API: endpoint.Responses}, want: []string{openAI, organization, project, gateway}},
		"Responses, other server, no key":       {model: Model{API: endpoint.Responses, BaseURL: other}, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, seen := heads(t)
			stray, strayed := heads(t)
			env := map[string]string{
				endpoint.ServerVariable: s.URL, endpoint.KeyVariable: "canary-openai", "OWN": "canary-own", "OPENAI_ADMIN_KEY": "canary-admin", "OPENAI_WEBHOOK_SECRET": "canary-webhook",
				"OPENAI_ORG_ID": "canary-org", "OPENAI_PROJECT_ID": "canary-project", "OPENAI_CUSTOM_HEADERS": "X-Gateway: canary-gateway",
				endpoint.AnthropicKeyVariable: "canary-anthropic", endpoint.AnthropicTokenVariable: "canary-token",
			}
			for variable, value := range env {
				t.Setenv(variable, value)
			}
			tt.model.Model = "x"
			tt.model.BaseURL = strings.NewReplacer(named, s.URL, other, stray.URL).Replace(tt.model.BaseURL)
			m, err := newClients(&Config{File: File{Models: map[string]Model{"m": tt.model}}, Path: "segue.yaml", Found: tt.found}, ClientOptions{Getenv: func(name string) string { return env[name] }})
			require.NoError(t, err)
			client, err := m.client("m")
			if tt.refuse != "" {
				require.ErrorContains(t, err, strings.ReplaceAll(tt.refuse, "HOST", endpoint.HostShown(s.URL)))
				require.ErrorContains(t, err, "name the file with --config")
				return
			}
			require.NoError(t, err)
			_, err = client.Complete(t.Context(), &llmclient.Request{Messages: messages.History{messages.UserText("hi")}}, nil)
			require.NoError(t, err)
			all := append(*seen, *strayed...)
			require.Len(t, all, 1)
			for _, want := range tt.want {
				require.Contains(t, all[0], want)
			}
			require.Equal(t, len(tt.want), strings.Count(all[0], "canary"), all[0])
		})
	}
}

// TestPolicy_stops: a format with stop sequences is refused before a model with an API without any
// is asked.
func TestPolicy_stops(t *testing.T) {
	_, err := EnvironmentClient(ClientOptions{Getenv: func(string) string { return "" }, API: "responses", Policy: "react", BaseURL: "http://localhost:1/v1"})
	require.EqualError(t, err, "the format react needs stop sequences, and api: responses has none: choose another format, or api: chat")
}
