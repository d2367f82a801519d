package sse_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/sse"
)

// noting serves the notes of a site.
func noting(t *testing.T, s *site, cfg sse.Config) *httptest.Server {
	t.Helper()
	cfg.Start = sse.Tasks(s.agent)
	h, err := sse.New(cfg)
	require.NoError(t, err)
	server := httptest.NewServer(h.Notes(s.agent))
	t.Cleanup(server.Close)
	return server
}

// A client makes a note for a run that it may name: it is in the inbox, and the run has it when it
// goes on.
func TestNotes(t *testing.T) {
	s := newSite(t, func(c *sse.Config) { c.Namespace, c.Authorize = user, anyRun })
	notes := noting(t, s, sse.Config{Namespace: user, Authorize: anyRun})
	status, text := s.post(s.tasks, "a", `{"run": "r", "goal": "go"}`)
	require.Equal(t, http.StatusOK, status, text)
	status, text = s.post(notes, "a", `{"run": "r", "text": "Briefly."}`)
	require.Equal(t, http.StatusAccepted, status, text)
	require.Empty(t, text)
	status, text = s.post(s.replies, "a", `{"run": "r", "replies": [{"wait_id": "`+waitOf(t, s, "a")+`", "text": "x"}]}`)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"kind":"note_heard","detail":{"note":1,"text":"Briefly."}`)

	status, _ = s.post(s.replies, "a", `{"run": "r", "replies": [{"wait_id": "`+waitOf(t, s, "a")+`", "text": "x"}]}`) // the model asks again
	require.Equal(t, http.StatusOK, status)
	status, text = s.post(notes, "a", `{"run": "r", "text": "late"}`)
	require.Equal(t, http.StatusConflict, status, text)
	require.Contains(t, text, "reply")
}

// The rules are those of the other routes.
func TestNotes_refused(t *testing.T) {
	s := newSite(t, func(c *sse.Config) { c.Namespace, c.Authorize = user, anyRun })
	notes := noting(t, s, sse.Config{Namespace: user, Authorize: anyRun, MaxBody: 2 * machine.MaxNote})
	for body, want := range map[string]int{
		`{"run": "none", "text": "a"}`:           http.StatusForbidden,
		`{"run": "r"}`:                           http.StatusBadRequest,
		`{"text": "a"}`:                          http.StatusBadRequest,
		`{"run": "r", "text": " "}`:              http.StatusBadRequest,
		`{"run": "r", "text": "a", "now": true}`: http.StatusBadRequest,
		`{"run": "r", "text": "` + strings.Repeat("x", machine.MaxNote+1) + `"}`: http.StatusBadRequest,
		`{"run": "r", "text": "` + strings.Repeat("x", 3*machine.MaxNote) + `"}`: http.StatusRequestEntityTooLarge,
	} {
		status, text := s.post(notes, "a", body)
		require.Equal(t, want, status, text)
	}
	status, _ := s.post(noting(t, s, sse.Config{}), "a", `{"run": "r", "text": "a"}`)
	require.Equal(t, http.StatusForbidden, status, "without a rule clients name no runs")

	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, notes.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := notes.Client().Do(get)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, notes.URL, strings.NewReader(`{"run": "r", "text": "a"}`))
	require.NoError(t, err)
	req.Header.Set("User", "a")
	req.Header.Set("Content-Type", "text/plain")
	resp, err = notes.Client().Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode, "a form of another site cannot send JSON")
	posted, err := s.store.Posted(t.Context(), checkpoint.Key{Namespace: "a", Run: "r"})
	require.NoError(t, err)
	require.Empty(t, posted)
}
