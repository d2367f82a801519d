package llmclient_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
)

func TestRouter(t *testing.T) {
	named := func(name string) llmclient.Client {
		return llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
			return reply(name + " asked for " + req.Model), nil
		})
	}
	router := llmclient.Router{"b": named("B"), "a/b": named("AB"), "nil": nil}
	withDefault := llmclient.Router{"b": named("B"), "": named("default")}
	for _, test := range []struct {
		router      llmclient.Router
		model, want string
		err         string
	}{
		{router, "b", "B asked for b", ""},
		{router, "a/b", "AB asked for a/b", ""},
		{withDefault, "b", "B asked for b", ""},
		{withDefault, "x", "default asked for x", ""},
		{withDefault, "", "default asked for ", ""},
		{router, "x", "", `llmclient: not_found (model x): model "x" is not known; known models: "a/b", "b"`},
		{router, "", "", `llmclient: not_found: model "" is not known; known models: "a/b", "b"`},
		{router, "nil", "", `llmclient: not_found (model nil): model "nil" has a nil client; known models: "a/b", "b"`},
		{nil, "x", "", `llmclient: not_found (model x): model "x" is not known; known models: none`},
	} {
		resp, err := test.router.Complete(t.Context(), &llmclient.Request{Model: test.model}, nil)
		if test.err != "" {
			require.EqualError(t, err, test.err)
			require.Equal(t, llmclient.CodeNotFound, llmclient.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.want, resp.Message.Text())
	}
}

func TestWrappers_ClientsThatBreakTheirPromise(t *testing.T) {
	silent := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return nil, nil
	})
	for c, code := range map[*llmclient.Client]llmclient.Code{
		new(llmclient.Client):          llmclient.CodeNotFound,
		ptr(llmclient.ClientFunc(nil)): llmclient.CodeNotFound,
		ptr(silent):                    llmclient.CodeBadResponse,
	} {
		for _, wrapper := range []llmclient.Client{
			llmclient.Retry(*c, llmclient.RetryConfig{}),
			llmclient.Fallback([]llmclient.Candidate{{Client: *c}}, llmclient.FallbackConfig{}),
			llmclient.RateLimit(*c, llmclient.RateLimitConfig{}),
			llmclient.Router{"": *c},
		} {
			_, err := wrapper.Complete(t.Context(), &llmclient.Request{}, nil)
			require.Equal(t, code, llmclient.CodeOf(err), "%T around %T: %v", wrapper, *c, err)
		}
	}
}

func ptr(f llmclient.ClientFunc) *llmclient.Client {
	c := llmclient.Client(f)
	return &c
}

// able is a client with more abilities.
type able struct{ llmclient.Client }

func (able) Models() []string { return []string{"m"} }

func TestAs(t *testing.T) {
	type lister interface{ Models() []string }
	inner := able{failing(nil)}
	c := llmclient.Retry(llmclient.RateLimit(llmclient.Fallback([]llmclient.Candidate{{Client: inner}, {}}, llmclient.FallbackConfig{}), llmclient.RateLimitConfig{}), llmclient.RetryConfig{})

	found, ok := llmclient.As[lister](c)
	require.True(t, ok)
	require.Equal(t, []string{"m"}, found.Models())
	found, ok = llmclient.As[lister](inner)
	require.True(t, ok)
	require.NotNil(t, found)
	for _, none := range []llmclient.Client{nil, failing(nil), llmclient.Retry(nil, llmclient.RetryConfig{}), llmclient.Fallback(nil, llmclient.FallbackConfig{}), llmclient.Router{"": inner}} {
		_, ok = llmclient.As[lister](none)
		require.False(t, ok)
	}
}
