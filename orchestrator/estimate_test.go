package orchestrator_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// pieceByPiece is a server whose model writes 78 pieces of eight bytes, and then does what comes
// last.
func pieceByPiece(t *testing.T, last func(w http.ResponseWriter, r *http.Request)) llmclient.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is noticed
		w.Header().Set("Content-Type", "text/event-stream")
		for range 78 {
			_, _ = io.WriteString(w, `data: {"model":"mine","choices":[{"index":0,"delta":{"content":"another "}}]}`+"\n\n")
		}
		_ = http.NewResponseController(w).Flush()
		last(w, r)
	}))
	t.Cleanup(server.Close)
	client, err := openaichat.New(openaichat.Config{Model: "mine", BaseURL: server.URL + "/v1", NoEnvironment: true, MaxRetries: -1, HTTPClient: server.Client()})
	require.NoError(t, err)
	return client
}

func atAPrice(c *orchestrator.Config) {
	c.Prices = llmclient.Prices{"mine": {Input: 1, Output: 10}}
}

// What a model wrote before a run was stopped, or before the connection broke, is charged by an
// estimate, which counts against limits and says that it is one.
func TestRun_brokenRepliesHaveAPrice(t *testing.T) {
	long := delegation.Input{Goal: strings.Repeat("word ", 400)} // some 500 tokens
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	check := func(t *testing.T, u messages.Usage) {
		t.Helper()
		require.InDelta(t, 500, u.Input, 50)
		require.EqualValues(t, 156, u.Output)
		require.Equal(t, u.Input+u.Output, u.Total)
		require.Equal(t, u.Total, u.Estimated)
	}
	t.Run("stopped", func(t *testing.T) {
		o := solver(t, pieceByPiece(t, hangs), stored(new(checkpoint.Memory)), atAPrice)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pieces := 0
		var end machine.RunFinished
		for e := range o.Stream(ctx, orchestrator.Task{Run: "r", Input: long, Limits: delegation.Limits{TotalTokens: 10_000}}) {
			if e.Kind == machine.EventTextDelta {
				if pieces++; pieces == 78 {
					cancel()
				}
			}
			if last, ok := e.Detail.(machine.RunFinished); ok {
				end = last
			}
		}
		check(t, end.Output.Usage)
		require.Equal(t, messages.Cost(end.Output.Usage.Input+10*end.Output.Usage.Output), end.Output.Cost)
		require.Zero(t, end.Output.Unpriced)
		require.Equal(t, 10_000-end.Output.Usage.Total, end.Left.TotalTokens)
	})
	t.Run("the connection breaks", func(t *testing.T) {
		res, err := solver(t, pieceByPiece(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), atAPrice).Run(t.Context(), orchestrator.Task{Input: long})
		require.Error(t, err)
		check(t, res.Output.Usage)
	})
	t.Run("the provider says what it was", func(t *testing.T) {
		client := pieceByPiece(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}`+"\n\n"+`data: {"error":{"message":"overloaded"}}`+"\n\n")
		})
		res, err := solver(t, client, atAPrice).Run(t.Context(), orchestrator.Task{Input: long})
		require.Error(t, err)
		require.Equal(t, messages.Usage{Input: 7, Output: 3, Total: 10}, res.Output.Usage)
	})
	t.Run("nothing came", func(t *testing.T) {
		for status, want := range map[int]bool{429: false, 500: false} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			client, err := openaichat.New(openaichat.Config{Model: "mine", BaseURL: server.URL + "/v1", NoEnvironment: true, MaxRetries: -1, HTTPClient: server.Client()})
			require.NoError(t, err)
			res, err := solver(t, client, atAPrice).Run(t.Context(), orchestrator.Task{Input: long})
			server.Close()
			require.Error(t, err)
			require.Equal(t, want, res.Output.Usage != messages.Usage{}, fmt.Sprint(status))
		}
	})
	t.Run("canceled before anything came", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cancel()
			<-r.Context().Done()
		}))
		defer server.Close()
		client, err := openaichat.New(openaichat.Config{Model: "mine", BaseURL: server.URL + "/v1", NoEnvironment: true, MaxRetries: -1, HTTPClient: server.Client()})
		require.NoError(t, err)
		res, err := solver(t, client, atAPrice).Run(ctx, orchestrator.Task{Input: long})
		require.Error(t, err)
		require.InDelta(t, 500, res.Output.Usage.Input, 50, "the provider has read the request")
		require.Zero(t, res.Output.Usage.Output)
		require.Equal(t, res.Output.Usage.Total, res.Output.Usage.Estimated)
	})
}
