package sse_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/orchestrator/sse"
)

// Two tenants have runs of the same id in one store. Each follows and answers its own, and no id
// that a client of one names reaches a run of the other.
func TestNamespace_tenantsApart(t *testing.T) {
	s := newSite(t, func(c *sse.Config) { c.Namespace, c.Authorize = user, anyRun })
	following, _ := serve(t, sse.Config{Follow: s.agent, Namespace: user, Authorize: anyRun})
	for tenant, goal := range map[string]string{"a": "the goal of a", "b": "the goal of b"} {
		status, text := s.post(s.tasks, tenant, `{"run": "r", "goal": "`+goal+`"}`)
		require.Equal(t, http.StatusOK, status, text)
		_, err := s.store.Head(t.Context(), checkpoint.Key{Namespace: tenant, Run: "r"})
		require.NoError(t, err)
	}
	waits := waitOf(t, s, "b")
	status, _ := s.post(s.replies, "b", `{"run": "r", "replies": [{"wait_id": "`+waits+`", "text": "x"}]}`)
	require.Equal(t, http.StatusOK, status)
	head, err := s.store.Head(t.Context(), checkpoint.Key{Namespace: "a", Run: "r"})
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusWaiting, head.Header.Status, "b has answered its own run")

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, following.URL+"?run=r", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("User", "b")
	resp, err := following.Client().Do(req)
	require.NoError(t, err)
	var text strings.Builder
	for b := range blocks(resp.Body) {
		text.WriteString(b.data)
	}
	require.NoError(t, resp.Body.Close())
	require.Contains(t, text.String(), "the goal of b")
	require.NotContains(t, text.String(), "the goal of a")

	for _, id := range []string{"a/r", "a:r", "../a/r", "/a/r"} { // b names a's
		require.Equal(t, http.StatusForbidden, followAs(t, following, "b", id), id)
		status, _ = s.post(s.replies, "b", `{"run": "`+id+`"}`)
		require.Equal(t, http.StatusForbidden, status, id)
	}
	require.Equal(t, http.StatusForbidden, followAs(t, following, "c", "r"), "c has none")
	require.Equal(t, http.StatusUnauthorized, followAs(t, following, "", "r"), "the error of Namespace is shown as it is")
}

func waitOf(t *testing.T, s *site, tenant string) string {
	t.Helper()
	head, err := s.store.Head(t.Context(), checkpoint.Key{Namespace: tenant, Run: "r"})
	require.NoError(t, err)
	require.Len(t, head.Header.Waits, 1)
	return head.Header.Waits[0].ID
}

// followAs asks for a run as somebody, and returns the status.
func followAs(t *testing.T, server *httptest.Server, as, run string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	require.NoError(t, err)
	req.URL.RawQuery = "run=" + run
	if as != "" {
		req.Header.Set("User", as)
	}
	resp, err := server.Client().Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// A rule that names no tenant, or none that a store can hold, is no way into the runs of nobody.
func TestNamespace_invalid(t *testing.T) {
	s := newSite(t, func(*sse.Config) {})
	for _, namespace := range []string{"", "a\x00b", "\xff", strings.Repeat("x", 513)} {
		end, _ := serve(t, sse.Config{
			Start: sse.Tasks(s.agent), Authorize: anyRun, Namespace: func(*http.Request) (string, error) { return namespace, nil },
		})
		refused(t, post(t, t.Context(), end, `{"goal": "x"}`), http.StatusInternalServerError, "internal", "could not be started")
	}
	end, _ := serve(t, sse.Config{
		Start: sse.Tasks(s.agent), Authorize: anyRun, Namespace: func(*http.Request) (string, error) { return "", errors.New("who is that?") },
	})
	status, text := s.post(end, "", `{"goal": "x"}`)
	require.Equal(t, http.StatusForbidden, status)
	require.NotContains(t, text, "who is that")
	require.Zero(t, s.store.used())
	require.Empty(t, sse.Namespace(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)))
}
