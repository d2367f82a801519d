// Package llmclienttest checks that a client keeps the promises of llmclient.Client.
//
//	func TestConformance(t *testing.T) {
//		speaking := func(t *testing.T, script []llmclienttest.Turn) llmclient.Client {
//			server := httptest.NewServer(speak(script)) // answers as the script says
//			t.Cleanup(server.Close)
//			return mine.New(server.URL)
//		}
//		llmclienttest.Run(t, llmclienttest.Config{New: speaking})
//	}
package llmclienttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Turn is what the model behind a client does with one request.
type Turn struct {
	Thought string              // what it thinks first
	Text    []string            // the visible text, in the pieces of the stream
	Calls   []messages.ToolCall // the tools it calls then
	Finish  llmclient.FinishReason
	Usage   messages.Usage
	Err     *llmclient.Error // it refuses; only Code, Status and Message are set
	Hang    bool             // it never answers
}

// Config says how to make the client under test.
type Config struct {
	// New returns a client of a model that answers the n-th request with the n-th Turn. It should
	// release its resources with t.Cleanup.
	New func(t *testing.T, script []Turn) llmclient.Client

	// Request returns the request to send; each call returns a new, equal one. The default has a
	// user message and a tool "add".
	Request func() *llmclient.Request

	NoThoughts bool // the client does not support thoughts: the scripts have none
}

// patience is the time limit for what a client should do soon.
const patience = 5 * time.Second

// Run checks the client in subtests, one for each promise. Some count goroutines, so other tests
// must not run at the same time: do not call Run in a parallel test.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.Request == nil {
		cfg.Request = request
	}
	for _, check := range []struct {
		name string
		run  func(*testing.T, Config)
	}{
		{"whole reply", wholeReply},
		{"streamed reply", streamedReply},
		{"calls", calls},
		{"empty reply", emptyReply},
		{"error", refusal},
		{"context done before", doneBefore},
		{"context done while waiting", doneWhileWaiting},
		{"context done while streaming", doneWhileStreaming},
		{"concurrent use", concurrentUse},
		{"request unchanged", requestUnchanged},
	} {
		t.Run(check.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) }) // registered first, so it runs last
			check.run(t, cfg)
		})
	}
}

func request() *llmclient.Request {
	return &llmclient.Request{
		Messages: messages.History{messages.System{Text: "Be brief."}, messages.UserText("Hello!")},
		Tools: []tools.Definition{{
			Name: "add", Description: "Adds two numbers.",
			Parameters: []byte(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
		}},
		Stop: []string{"END"},
	}
}

// talk is a turn with everything that a plain reply can have.
func (cfg Config) talk() Turn {
	turn := Turn{
		Thought: "Let me think, 想.", Text: []string{"Hel", "lo, ", "wörld", "!\n"}, Finish: llmclient.FinishStop,
		Usage: messages.Usage{Input: 12, Output: 7, Total: 19},
	}
	if cfg.NoThoughts {
		turn.Thought = ""
	}
	return turn
}

func (turn Turn) text() string {
	return strings.Join(turn.Text, "")
}

func requireReply(t *testing.T, want Turn, got *llmclient.Response) {
	t.Helper()
	require.NotNil(t, got)
	require.Equal(t, want.text(), got.Message.Text())
	require.Equal(t, want.Thought, got.Message.Thought())
	require.Equal(t, want.Calls, got.Message.Calls())
	require.Equal(t, want.Finish, got.Finish)
	if want.Usage != (messages.Usage{}) || got.Usage.Estimated == 0 { // else the client estimates
		require.Equal(t, want.Usage, got.Usage)
	}
	require.Empty(t, got.Attempts, "nothing failed before")
}

func wholeReply(t *testing.T, cfg Config) {
	turn := cfg.talk()
	got, err := cfg.New(t, []Turn{turn}).Complete(t.Context(), cfg.Request(), nil)
	require.NoError(t, err)
	requireReply(t, turn, got)
}

func streamedReply(t *testing.T, cfg Config) {
	turn, heard := cfg.talk(), &listener{t: t}
	got, err := complete(t.Context(), cfg.New(t, []Turn{turn}), cfg.Request(), heard)
	require.NoError(t, err)
	requireReply(t, turn, got)
	require.Equal(t, turn.text(), heard.text, "the deltas of the text, joined")
	require.Equal(t, turn.Thought, heard.thought, "the deltas of the thought, joined")
}

func calls(t *testing.T, cfg Config) {
	turn := Turn{
		Text:   []string{"I will ", "add."},
		Calls:  []messages.ToolCall{{ID: "c1", Name: "add", Arguments: `{"a": 1, "b": 2}`}, {ID: "c2", Name: "add", Arguments: `{"a": 1, "b":`}},
		Finish: llmclient.FinishToolCalls,
	}
	c := cfg.New(t, []Turn{turn, turn})
	got, err := c.Complete(t.Context(), cfg.Request(), nil)
	require.NoError(t, err)
	requireReply(t, turn, got)

	heard := &listener{t: t}
	got, err = complete(t.Context(), c, cfg.Request(), heard)
	require.NoError(t, err)
	requireReply(t, turn, got)
	require.Equal(t, turn.text(), heard.text)
}

func emptyReply(t *testing.T, cfg Config) {
	turn := Turn{Finish: llmclient.FinishStop}
	c := cfg.New(t, []Turn{turn, turn})
	for _, heard := range []*listener{nil, {t: t}} {
		got, err := complete(t.Context(), c, cfg.Request(), heard)
		require.NoError(t, err)
		requireReply(t, turn, got)
	}
}

func refusal(t *testing.T, cfg Config) {
	want := &llmclient.Error{Code: llmclient.CodeAuth, Status: 401, Message: "the key is not valid"}
	c := cfg.New(t, []Turn{{Err: want}, {Err: want}})
	for _, heard := range []*listener{nil, {t: t}} {
		got, err := complete(t.Context(), c, cfg.Request(), heard)
		require.Nil(t, got)
		e, ok := errors.AsType[*llmclient.Error](err)
		require.True(t, ok, "want an *llmclient.Error, got %T: %v", err, err)
		require.Equal(t, want.Code, e.Code)
		require.Contains(t, err.Error(), want.Message)
	}
}

func doneBefore(t *testing.T, cfg Config) {
	c := cfg.New(t, []Turn{cfg.talk(), cfg.talk()})
	for _, heard := range []*listener{nil, {t: t}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := soon(t, ctx, c, cfg.Request(), heard)
		require.ErrorIs(t, err, context.Canceled)
	}
}

func doneWhileWaiting(t *testing.T, cfg Config) {
	mine := errors.New("the user went home")
	c := cfg.New(t, []Turn{{Hang: true}, {Hang: true}, {Hang: true}, {Hang: true}})
	for _, stream := range []bool{false, true} {
		var heard *listener
		if stream {
			heard = &listener{t: t}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := time.AfterFunc(20*time.Millisecond, func() { cancel(mine) })
		err := soon(t, ctx, c, cfg.Request(), heard)
		timer.Stop()
		require.ErrorIs(t, err, mine, "the context's cause stays reachable")

		late, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err = soon(t, late, c, cfg.Request(), heard)
		stop()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// A caller may stop listening in the middle of a reply. The parts that have arrived may still be
// returned.
func doneWhileStreaming(t *testing.T, cfg Config) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, heard := cfg.New(t, []Turn{cfg.talk()}), &listener{t: t}
	heard.first = cancel
	err := soon(t, ctx, c, cfg.Request(), heard)
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func concurrentUse(t *testing.T, cfg Config) {
	const callers = 16
	script := make([]Turn, callers)
	for i := range script {
		script[i] = cfg.talk()
	}
	c := cfg.New(t, script)
	replies, errs := make([]*llmclient.Response, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			var heard *listener
			if i%2 == 0 {
				heard = &listener{t: t}
			}
			replies[i], errs[i] = complete(t.Context(), c, cfg.Request(), heard)
		})
	}
	all.Wait()
	for i := range callers {
		require.NoError(t, errs[i])
		requireReply(t, script[i], replies[i])
	}
}

// A request is read-only: neither its fields nor the spare capacity of its slices may change.
func requestUnchanged(t *testing.T, cfg Config) {
	c := cfg.New(t, []Turn{cfg.talk(), cfg.talk(), {Err: &llmclient.Error{Code: llmclient.CodeAuth, Status: 401, Message: "no"}}})
	for _, heard := range []*listener{nil, {t: t}, nil} {
		req, want := cfg.Request(), cfg.Request()
		for _, r := range []*llmclient.Request{req, want} {
			r.Messages, r.Tools, r.Stop = slices.Grow(r.Messages, 3), slices.Grow(r.Tools, 3), slices.Grow(r.Stop, 3)
		}
		_, _ = complete(t.Context(), c, req, heard)

		require.Equal(t, want, req)
		requireNoneBeyond(t, req.Messages)
		requireNoneBeyond(t, req.Tools)
		requireNoneBeyond(t, req.Stop)
	}
}

// requireNoneBeyond checks that nothing was appended in place.
func requireNoneBeyond[E any](t *testing.T, list []E) {
	t.Helper()
	for _, e := range list[len(list):cap(list)] {
		require.Zero(t, e, "something was appended to the caller's own %T", list)
	}
}
