package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
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
		_, _ = io.WriteString(w, isDoneBody)
	}))
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(s.Close)
	return s, &seen
}

const isDoneBody = `{"choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`

// TestAccount_sends holds what each server is sent against what the environment and the file say,
// over the network.
func TestAccount_sends(t *testing.T) {
	const (
		organization, project, gateway = "Openai-Organization: canary-org", "Openai-Project: canary-project", "X-Gateway: canary-gateway"
		openAI, own                    = "Bearer canary-openai", "Bearer canary-own"
	)
	named, other := "NAMED", "OTHER" // the server that the environment names, and another one
	for name, tt := range map[string]struct {
		model  modelConfig
		found  bool
		want   []string
		refuse string
	}{
		"environment":                  {model: modelConfig{}, want: []string{openAI, organization, project, gateway}},
		"environment, found":           {model: modelConfig{}, found: true, want: []string{openAI, organization, project, gateway}},
		"environment, own key":         {model: modelConfig{APIKeyEnv: "OWN"}, want: []string{own, organization, project, gateway}},
		"environment, own key, found":  {model: modelConfig{APIKeyEnv: "OWN"}, found: true, want: []string{own, organization, project, gateway}},
		"same server":                  {model: modelConfig{BaseURL: named + "/other/path", APIKeyEnv: openAIKey}, found: true, want: []string{openAI, organization, project, gateway}},
		"same server, no key":          {model: modelConfig{BaseURL: named}, want: nil},
		"other server, no key":         {model: modelConfig{BaseURL: other}, want: nil},
		"other server, no key, found":  {model: modelConfig{BaseURL: other}, found: true, want: nil},
		"other server, own key":        {model: modelConfig{BaseURL: other, APIKeyEnv: "OWN"}, want: []string{own}},
		"other server, own key, found": {model: modelConfig{BaseURL: other, APIKeyEnv: "OWN"}, found: true, want: []string{own}},
		"other server, OpenAI's key":   {model: modelConfig{BaseURL: other, APIKeyEnv: openAIKey}, want: []string{openAI}},
		"other server, OpenAI's key, found": {
			model: modelConfig{BaseURL: other, APIKeyEnv: openAIKey}, found: true, refuse: "model m: OPENAI_API_KEY goes to HOST alone, the server of the environment; ",
		},
		"other server, administrator's key, found": {
			model: modelConfig{BaseURL: other, APIKeyEnv: "OPENAI_ADMIN_KEY"}, found: true, refuse: "model m: OPENAI_ADMIN_KEY goes to HOST alone",
		},
		"other server, secret of webhooks, found": {
			model: modelConfig{BaseURL: other, APIKeyEnv: "OPENAI_WEBHOOK_SECRET"}, found: true, refuse: "model m: OPENAI_WEBHOOK_SECRET goes to HOST alone",
		},
		"other server, headers, found": {
			model: modelConfig{BaseURL: other, APIKeyEnv: "OPENAI_CUSTOM_HEADERS"}, found: true, refuse: "model m: OPENAI_CUSTOM_HEADERS goes to HOST alone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, seen := heads(t)
			stray, strayed := heads(t)
			env := map[string]string{
				openAIServer: s.URL, openAIKey: "canary-openai", "OWN": "canary-own", "OPENAI_ADMIN_KEY": "canary-admin", "OPENAI_WEBHOOK_SECRET": "canary-webhook",
				"OPENAI_ORG_ID": "canary-org", "OPENAI_PROJECT_ID": "canary-project", "OPENAI_CUSTOM_HEADERS": "X-Gateway: canary-gateway",
			}
			for variable, value := range env {
				t.Setenv(variable, value)
			}
			tt.model.Model = "x"
			tt.model.BaseURL = strings.NewReplacer(named, s.URL, other, stray.URL).Replace(tt.model.BaseURL)
			m := &models{file: map[string]modelConfig{"m": tt.model}, getenv: func(name string) string { return env[name] }, made: map[string]llmclient.Client{}}
			if tt.found {
				m.found = usualConfig
			}
			client, err := m.client("m")
			if tt.refuse != "" {
				require.ErrorContains(t, err, strings.ReplaceAll(tt.refuse, "HOST", hostShown(s.URL)))
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

// What the user types is sent the key, as ever, and the headers of the environment only if it is
// their server.
func TestAccount_typed(t *testing.T) {
	s, seen := heads(t)
	env := map[string]string{openAIKey: "canary-openai", "OPENAI_CUSTOM_HEADERS": "X-Gateway: canary-gateway", openAIServer: ""}
	for variable, value := range env {
		t.Setenv(variable, value)
	}
	got := segue(t, "agents: {a: {}}\n", env, "--base-url", s.URL, "task")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Contains(t, (*seen)[0], "Bearer canary-openai")
	require.NotContains(t, (*seen)[0], "canary-gateway")
	env[openAIServer] = s.URL
	t.Setenv(openAIServer, s.URL)
	got = segue(t, "agents: {a: {}}\n", env, "--base-url", s.URL+"/v1", "task")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Contains(t, (*seen)[1], "canary-gateway")
}

func TestSameServer(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"https://api.openai.com/v1", "https://API.openai.com:443/other", true},
		{"http://h", "http://h:80/x", true},
		{"http://h", "https://h", false},
		{"https://h", "https://h:8443", false},
		{"https://h", "https://h.evil.com", false},
		{"https://h", "https://user@h", true},
		{"https://h@evil.com", "https://h", false},
		{"http://[::1]:80", "http://[::1]", true},
		{"", "", false},
		{"::", "::", false},
		{"https:///x", "https:///x", false},
	} {
		require.Equal(t, tt.want, sameServer(tt.a, tt.b), "%s %s", tt.a, tt.b)
	}
}

// A file that was found can tighten approval, and never loosen it.
func TestApprovals_within(t *testing.T) {
	words := append([]string{""}, approvalWords...)
	strictness := map[orchestrator.Verdict]int{orchestrator.VerdictAllow: 0, orchestrator.VerdictAsk: 1, orchestrator.VerdictRefuse: 2}
	rapid.Check(t, func(t *rapid.T) {
		a := agentConfig{Children: []childConfig{{Agent: "child"}}}
		a.Approval.Default = rapid.SampledFrom(words).Draw(t, "default")
		names := []string{"read_file", "write_file", "child", "other"}
		a.Approval.Tools = rapid.MapOf(rapid.SampledFrom(names), rapid.SampledFrom(approvalWords)).Draw(t, "tools")
		r := orchestrator.ApprovalRequest{
			Definition: tools.Definition{ReadOnly: rapid.Bool().Draw(t, "read-only")},
			Untrusted:  rapid.Bool().Draw(t, "untrusted"),
		}
		usual := newApprovals(approveAsk, []string{"child", "other"})
		got := a.approvals().within(usual)
		for _, name := range names {
			said, bound := strictness[a.approvals().of(name)(r)], strictness[usual.of(name)(r)]
			require.Equal(t, max(said, bound), strictness[got.of(name)(r)], name)
		}
	})
}

// What a found file is told that it cannot say is what it loosens.
func TestLoosened(t *testing.T) {
	folder, err := openFolder(t.TempDir(), nil)
	require.NoError(t, err)
	files := folder.tools()
	require.NoError(t, folder.root.Close())
	for _, tool := range append(files, tools.AskUser()) {
		require.Equal(t, tool.Definition().Name != writeFile, tool.Definition().ReadOnly)
	}
	for _, tt := range []struct {
		said approvalConfig
		want []string
	}{
		{approvalConfig{}, nil},
		{approvalConfig{Default: approveNever, Tools: map[string]string{"write_file": approveAsk, "read_file": approveAlways}}, nil},
		{approvalConfig{Default: approveAlways}, []string{"default: always"}},
		{approvalConfig{Default: approveUntrusted, Tools: map[string]string{"write_file": approveUntrusted}}, []string{"default: untrusted", "write_file: untrusted"}},
	} {
		require.Equal(t, tt.want, agentConfig{Approval: tt.said}.loosened())
	}
}
