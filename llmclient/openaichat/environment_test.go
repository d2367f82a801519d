package openaichat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/openaichat"
)

// setEnvironment sets every variable that openai-go reads, to values that contain "canary".
func setEnvironment(t *testing.T, baseURL string) {
	t.Helper()
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "canary-key", "OPENAI_ADMIN_KEY": "canary-admin", "OPENAI_WEBHOOK_SECRET": "canary-webhook",
		"OPENAI_ORG_ID": "canary-org", "OPENAI_PROJECT_ID": "canary-project", "OPENAI_BASE_URL": baseURL,
		"OPENAI_CUSTOM_HEADERS": "X-Gateway: canary-gateway\nAuthorization: Bearer canary-custom",
	} {
		t.Setenv(name, value)
	}
}

// headText returns a header as one text.
func headText(t *testing.T, h http.Header) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, h.Write(&b))
	return b.String()
}

// With NoEnvironment, only values of the Config are sent, and none of the environment.
func TestNoEnvironment(t *testing.T) {
	s, other := sayJSON(t, doneBody), sayJSON(t, doneBody)
	setEnvironment(t, other.URL)
	for _, key := range []string{"", "sk-own"} {
		for _, client := range []*http.Client{nil, s.Client()} {
			c, err := openaichat.New(openaichat.Config{Model: "m", MaxRetries: -1, BaseURL: s.URL + "/v1", APIKey: key, NoEnvironment: true, HTTPClient: client})
			require.NoError(t, err)
			_, err = c.Complete(t.Context(), hello(), nil)
			require.NoError(t, err)
			_, head := s.Sent()
			require.NotContains(t, headText(t, head), "canary")
			require.Equal(t, key, strings.TrimPrefix(head.Get("Authorization"), "Bearer "))
			require.Equal(t, "/v1/chat/completions", s.Path())
		}
	}
	require.Empty(t, other.Path())
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// Without a base URL, NoEnvironment asks OpenAI, whatever the environment contains.
func TestNoEnvironment_server(t *testing.T) {
	s := sayJSON(t, doneBody)
	setEnvironment(t, s.URL)
	var asked string
	c, err := openaichat.New(openaichat.Config{Model: "m", MaxRetries: -1, NoEnvironment: true, HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(doneBody)), Request: r}, nil
	})}})
	require.NoError(t, err)
	_, err = c.Complete(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "https://api.openai.com/v1/chat/completions", asked)
}

// Without NoEnvironment the values of the environment are sent, except an administrator's key,
// which is not used for chats.
func TestEnvironment(t *testing.T) {
	s := sayJSON(t, doneBody)
	setEnvironment(t, s.URL)
	ask := func() http.Header {
		c, err := openaichat.New(openaichat.Config{Model: "m", MaxRetries: -1, HTTPClient: s.Client()})
		require.NoError(t, err)
		_, err = c.Complete(t.Context(), hello(), nil)
		require.NoError(t, err)
		_, head := s.Sent()
		return head
	}
	head := ask()
	require.Equal(t, "Bearer canary-key", head.Get("Authorization"))
	require.Equal(t, "canary-org", head.Get("OpenAI-Organization"))
	require.Equal(t, "canary-project", head.Get("OpenAI-Project"))
	require.Equal(t, "canary-gateway", head.Get("X-Gateway"))
	t.Setenv("OPENAI_API_KEY", "")
	require.Equal(t, "Bearer canary-custom", ask().Get("Authorization"))
	t.Setenv("OPENAI_CUSTOM_HEADERS", "")
	require.Empty(t, ask().Get("Authorization"))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
