package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Replies of a model.
const (
	listsFiles = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"list_files","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	writesFile = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c2","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"a\",\"content\":\"1\"}"}}]},"finish_reason":"tool_calls"}]}`
	answersAll = `{"choices":[{"index":0,"message":{"role":"assistant","content":"All done."},"finish_reason":"stop"}]}`
)

// canary is a key that must stand nowhere.
const canary = "sk-canary-5f1b7c"

// newModel is a server that gives these replies, one after the other.
func newModel(t *testing.T, replies ...string) *httptest.Server {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1))
		if _, err := io.Copy(io.Discard, r.Body); err != nil || n > len(replies) {
			http.Error(w, "no more replies", http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, replies[n-1])
	}))
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(s.Close)
	return s
}
