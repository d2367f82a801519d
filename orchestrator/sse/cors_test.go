package sse_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator/sse"
)

// fromSite makes a request of a page, and returns the header of the response.
func fromSite(t *testing.T, handler http.Handler, method, origin string, preflight bool) (int, http.Header) {
	t.Helper()
	req := httptest.NewRequest(method, "/", strings.NewReader(`{"goal": "go"}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", origin)
	if preflight {
		req.Header.Set("Access-Control-Request-Method", http.MethodPost)
		req.Header.Set("Access-Control-Request-Headers", "content-type,x-tenant")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	return w.Code, w.Header()
}

// Pages of other origins may use the handler if, and only if, the Config names them.
func TestOrigins(t *testing.T) {
	const here, there = "https://app.example.com", "https://evil.example.com"
	o := agent(t, scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("3"), scripted.Text("4"), scripted.Text("5"), scripted.Text("6"), scripted.Text("7")), inMemory)
	build := func(credentials bool, origins ...string) *sse.Handler {
		h, err := sse.New(sse.Config{Start: sse.Tasks(o), Follow: o, Authorize: anyRun, Origins: origins, Credentials: credentials})
		require.NoError(t, err)
		return h
	}
	for name, c := range map[string]struct {
		handler     *sse.Handler
		origin      string
		allowed     bool
		credentials string
	}{
		"off":         {build(false), here, false, ""},
		"named":       {build(false, "http://localhost:3000", here), here, true, ""},
		"not named":   {build(false, here), there, false, ""},
		"longer":      {build(false, here), here + ".evil.org", false, ""},
		"null":        {build(false, here), "null", false, ""},
		"any":         {build(false, "*"), there, true, ""},
		"credentials": {build(true, here), here, true, "true"},
	} {
		want := ""
		if c.allowed {
			want = c.origin
		}
		code, header := fromSite(t, c.handler, http.MethodPost, c.origin, false)
		require.Equal(t, http.StatusOK, code, "%s: the browser holds the response back, not the server", name)
		require.Equal(t, want, header.Get("Access-Control-Allow-Origin"), name)
		require.Equal(t, c.credentials, header.Get("Access-Control-Allow-Credentials"), name)
		require.Equal(t, name != "off", header.Get("Vary") == "Origin", name)
		for path, handler := range map[string]http.Handler{"POST, GET, HEAD": c.handler, "POST": c.handler.Notes(o)} {
			code, header = fromSite(t, handler, http.MethodOptions, c.origin, true)
			require.Equal(t, want, header.Get("Access-Control-Allow-Origin"), name)
			if !c.allowed {
				require.Equal(t, http.StatusMethodNotAllowed, code, name)
				continue
			}
			require.Equal(t, http.StatusNoContent, code, name)
			require.Equal(t, path, header.Get("Access-Control-Allow-Methods"), name)
			require.Equal(t, "content-type,x-tenant", header.Get("Access-Control-Allow-Headers"), name)
		}
		code, header = fromSite(t, c.handler.Notes(o), http.MethodPost, c.origin, false)
		require.Equal(t, http.StatusBadRequest, code)
		require.Equal(t, want, header.Get("Access-Control-Allow-Origin"), "a page reads errors, too")
	}
	for _, cfg := range []sse.Config{
		{Origins: []string{"*"}, Credentials: true},
		{Credentials: true},
		{Origins: []string{"app.example.com"}},
		{Origins: []string{here + "/"}},
		{Origins: []string{"null"}},
		{Origins: []string{"https://App.example.com"}},
	} {
		cfg.Start = sse.Tasks(o)
		_, err := sse.New(cfg)
		require.ErrorContains(t, err, "Origins", "%v", cfg.Origins)
	}
}
