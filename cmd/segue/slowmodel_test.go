package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// isDone is a reply that ends a run.
const isDone = `{"choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`

// Replies that call tools.
const (
	wantsToWrite = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[
{"id":"c1","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"a\",\"content\":\"1\"}"}},
{"id":"c2","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"b\",\"content\":\"2\"}"}}]},"finish_reason":"tool_calls"}]}`
	wantsToKnow = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[
{"id":"c1","type":"function","function":{"name":"ask_user","arguments":"{\"question\":\"Well?\"}"}},
{"id":"c2","type":"function","function":{"name":"ask_user","arguments":"{\"question\":\"Sure?\"}"}}]},"finish_reason":"tool_calls"}]}`
)

// slowModel is a server that takes its time.
type slowModel struct {
	*httptest.Server
	asked   chan string // holds what was asked
	replies chan string
}

func newSlowModel(t *testing.T) *slowModel {
	t.Helper()
	m := &slowModel{asked: make(chan string, 8), replies: make(chan string)}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		m.asked <- string(body)
		select {
		case reply := <-m.replies:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, reply)
		case <-r.Context().Done():
		}
	}))
	m.Config.SetKeepAlivesEnabled(false)
	m.Start()
	t.Cleanup(m.Close)
	return m
}
