package scripted_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// outcome is everything that a caller sees of one call.
type outcome struct {
	resp   *llmclient.Response
	err    error
	deltas []llmclient.Delta
}

func call(t *testing.T, c llmclient.Client, req *llmclient.Request, streamed bool) (o outcome) {
	t.Helper()
	var onDelta func(llmclient.Delta)
	if streamed {
		onDelta = func(d llmclient.Delta) { o.deltas = append(o.deltas, d) }
	}
	o.resp, o.err = c.Complete(t.Context(), req, onDelta)
	return o
}

// conversation returns a model, and a request for each of its replies.
func conversation() (llmclient.Client, []*llmclient.Request) {
	temperature := 0.5
	turn := messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "One moment."}, messages.ToolCall{ID: "c1", Name: "add", Arguments: `{"a":1,"b":2}`}}}
	full := &llmclient.Request{
		Model:    "m",
		Messages: messages.History{messages.System{Text: "Be <brief> & \"kind\"."}, messages.UserText("1+2?")},
		Tools: []tools.Definition{{
			Name: "add", Description: "Adds.", Parameters: []byte(`{"type":"object", "properties":{"b":{"type":"number"},"a":{"type":"number"}}}`), ReadOnly: true, Timeout: time.Second,
		}},
		ToolChoice:  llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "add"},
		Schema:      &llmclient.Schema{Name: "answer", Schema: []byte(`{"type":"object"}`)},
		Stop:        []string{"\n"},
		Temperature: &temperature, MaxTokens: 100,
		Extras: messages.Extras{"seed": []byte("7")},
	}
	second := *full
	second.Messages = append(full.Messages.Clip(), turn, messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1", ToolName: "add", Output: "3", Elapsed: time.Millisecond}})
	model := scripted.New(
		scripted.Reply{Thought: "hm", Deltas: []string{"One ", "moment."}, Calls: []messages.ToolCall{scripted.Call("add", `{"a":1,"b":2}`, "c1")}, Usage: messages.Usage{Input: 10, Output: 5, Total: 15}},
		scripted.Reply{Text: "cut o", Usage: messages.Usage{Output: 1}, Err: &llmclient.Error{
			Code: llmclient.CodeRateLimited, Status: 429, Type: "tokens", Message: "slow down", Model: "m-1", RequestID: "r1", RetryAfter: 1500 * time.Millisecond,
			Attempts: []llmclient.Attempt{{Model: "m", Code: llmclient.CodeUnavailable, Error: "down", Wait: time.Second}}, Err: errors.New("status 429"),
		}},
		scripted.Text("3"),
		scripted.Error(errors.New("plain")),
		scripted.Reply{},
	)
	return model, []*llmclient.Request{full, &second, &second, user("other"), user("other")}
}

// Recorded responses, deltas and typed errors are returned, whole or streamed.
func TestRecordReplay_RoundTrip(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		model, requests := conversation()
		var tape bytes.Buffer
		recorder := scripted.Record(model, &tape)
		var recorded []outcome
		for _, req := range requests {
			recorded = append(recorded, call(t, recorder, req, streamed))
		}
		require.Equal(t, len(requests), strings.Count(tape.String(), "\n"))

		replayer, err := scripted.Replay(&tape)
		require.NoError(t, err)
		require.Equal(t, len(requests), replayer.Remaining())
		for i, req := range requests {
			got, want := call(t, replayer, req, streamed), recorded[i]
			require.Equal(t, want.resp, got.resp)
			require.Equal(t, want.deltas, got.deltas)
			if want.err == nil {
				require.NoError(t, got.err)
				continue
			}
			require.EqualError(t, got.err, want.err.Error())
			wantTyped, typed := errors.AsType[*llmclient.Error](want.err)
			gotTyped, ok := errors.AsType[*llmclient.Error](got.err)
			require.Equal(t, typed, ok)
			require.Equal(t, wantTyped, gotTyped)
		}
		replayer.AssertComplete(t)
	}
}

// The format is a promise: cassettes of any release can be read, and are written in the same way.
func TestCassette_Golden(t *testing.T) {
	const path = "testdata/cassette-v1.jsonl"
	model, requests := conversation()
	var tape bytes.Buffer
	recorder := scripted.Record(model, &tape)
	for i, req := range requests {
		call(t, recorder, req, i < 2)
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(path, tape.Bytes(), 0o600))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(golden), tape.String())

	replayer, err := scripted.Replay(bytes.NewReader(golden))
	require.NoError(t, err)
	require.Equal(t, "One moment.", call(t, replayer, requests[0], false).resp.Message.Text())
}

func record(t *testing.T, replies []scripted.Reply, requests ...*llmclient.Request) *scripted.Replayer {
	t.Helper()
	var tape bytes.Buffer
	recorder := scripted.Record(scripted.New(replies...), &tape)
	for _, req := range requests {
		call(t, recorder, req, false)
	}
	replayer, err := scripted.Replay(&tape)
	require.NoError(t, err)
	return replayer
}

// The key depends only on what the model sees: not on the time of tools, the spelling of a schema,
// or how tools are run.
func TestReplay_WhatTheModelDoesNotSeeDoesNotCount(t *testing.T) {
	request := func(elapsed time.Duration, schema string, timeout time.Duration) *llmclient.Request {
		return &llmclient.Request{
			Messages: messages.History{
				messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: "f"}}},
				messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c", Elapsed: elapsed}},
			},
			Tools: []tools.Definition{{Name: "f", Parameters: []byte(schema), Timeout: timeout}},
		}
	}
	first := request(1, `{"a":1,"b":2}`, 1)
	replayer := record(t, []scripted.Reply{scripted.Text("x")}, first)
	require.Equal(t, time.Duration(1), first.Messages[1].(messages.Tool).Elapsed)
	require.Equal(t, "x", ask(t, replayer, request(2, `{ "b":2, "a":1 }`, 2)))
}

// The marks of a message are not part of what a model sees.
func TestReplay_marksOfMessages(t *testing.T) {
	marked := user("x")
	u := marked.Messages[0].(messages.User)
	u.Pinned, u.Untrusted = true, true
	marked.Messages = messages.History{u}
	replayer := record(t, []scripted.Reply{scripted.Text("a")}, marked)
	require.Equal(t, "a", ask(t, replayer, user("x")))
}

func TestReplay_EachRecordingOnceInOrder(t *testing.T) {
	replayer := record(t, []scripted.Reply{scripted.Text("a"), scripted.Text("b")}, user("x"), user("x"))
	require.Equal(t, "a", ask(t, replayer, user("x")))
	var noted tb
	replayer.AssertComplete(&noted)
	require.Equal(t, []string{"scripted: 1 of 2 recordings of the cassette were not used: 2"}, noted.failures)
	require.Equal(t, "b", ask(t, replayer, user("x")))
	_, err := replayer.Complete(t.Context(), user("x"), nil)
	require.ErrorContains(t, err, "scripted: all 2 recordings of this request (key ")
}

func TestReplay_WholeReplyIsStreamedWhereAsked(t *testing.T) {
	replayer := record(t, []scripted.Reply{{Thought: "hm", Deltas: []string{"a", "b"}}}, user("x"))
	require.Equal(t, []llmclient.Delta{{Kind: llmclient.DeltaThought, Text: "hm"}, {Text: "ab"}}, call(t, replayer, user("x"), true).deltas)
}

func TestReplay_ContextDone(t *testing.T) {
	replayer := record(t, []scripted.Reply{scripted.Stream("a", "b")}, user("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := replayer.Complete(ctx, user("x"), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, replayer.Remaining())
}

func TestRecord_LeavesOutWhatTheCallerStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tape bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := scripted.Record(scripted.New(scripted.Reply{Delay: time.Minute}), &tape).Complete(ctx, user("x"), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, tape.Len())
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRecord_FailsLoudly(t *testing.T) {
	silent := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return nil, nil
	})
	raw := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return &llmclient.Response{Raw: []byte("data: no JSON")}, nil
	})
	var tape bytes.Buffer
	unencodable := user("x")
	unencodable.Extras = messages.Extras{"x": []byte("{")}

	_, err := scripted.Record(scripted.New(scripted.Text("x")), brokenWriter{}).Complete(t.Context(), user("x"), nil)
	require.EqualError(t, err, `scripted: the call to model "" cannot be recorded: disk full`)
	_, err = scripted.Record(nil, &tape).Complete(t.Context(), user("x"), nil)
	coded(t, err, llmclient.CodeNotFound)
	_, err = scripted.Record(silent, &tape).Complete(t.Context(), user("x"), nil)
	coded(t, err, llmclient.CodeBadResponse)
	_, err = scripted.Record(silent, &tape).Complete(t.Context(), unencodable, nil)
	coded(t, err, llmclient.CodeBadRequest)
	resp, err := scripted.Record(raw, &tape).Complete(t.Context(), user("y"), nil)
	require.NoError(t, err)
	require.Equal(t, "data: no JSON", string(resp.Raw), "the caller's response is left alone")

	replayer, err := scripted.Replay(&tape)
	require.NoError(t, err)
	_, err = replayer.Complete(t.Context(), unencodable, nil)
	coded(t, err, llmclient.CodeBadRequest)
	o := call(t, replayer, user("y"), false)
	require.Nil(t, o.resp.Raw)
}

func TestReplay_BadCassettes(t *testing.T) {
	var tape bytes.Buffer
	_, err := scripted.Record(scripted.New(scripted.Text("x")), &tape).Complete(t.Context(), user("hello"), nil)
	require.NoError(t, err)
	good := tape.String()
	for cassette, want := range map[string]string{
		"{":                                "line 1: unexpected end of JSON input",
		"[]":                               "line 1: json: cannot unmarshal array",
		"{}":                               "line 1: version 0 is not known; this is version 1",
		`{"v":2}`:                          "line 1: version 2 is not known; this is version 1",
		good + "\n\n" + `{"v":1}`:          "line 4: want either a response or an error",
		`{"v":1,"error":{},"response":{}}`: "want either a response or an error",
		`{"v":1,"error":{}}`:               "line 1: request: EOF",
		`{"v":1,"also":1}`:                 `unknown field "also"`,
		`{"v":1,"error":{},"deltas":[{"kind":"call","text":""}]}`:       `delta of unknown kind "call"`,
		strings.Replace(good, "hello", "hallo", 1):                      "line 1: the key ",
		strings.Replace(good, `"role":"assistant"`, `"role":"user"`, 1): `role: is "user", want "assistant"`,
	} {
		_, err := scripted.Replay(strings.NewReader(cassette))
		require.ErrorContains(t, err, want, cassette)
		require.ErrorContains(t, err, "scripted: cassette line ")
	}
	_, err = scripted.Replay(brokenReader{})
	require.ErrorContains(t, err, "scripted: cassette: disk gone")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

// Any cassette gives a client that answers or misses, or an error.
func FuzzReplay(f *testing.F) {
	golden, err := os.ReadFile("testdata/cassette-v1.jsonl")
	require.NoError(f, err)
	f.Add(string(golden))
	for line := range strings.Lines(string(golden)) {
		f.Add(line)
	}
	f.Add(`{"v":1,"key":"5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9","request":0,"error":{"plain":true}}`)
	f.Fuzz(func(t *testing.T, cassette string) {
		replayer, err := scripted.Replay(strings.NewReader(cassette))
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "scripted: "), err)
			return
		}
		left := replayer.Remaining()
		_, requests := conversation()
		for _, req := range requests {
			o := call(t, replayer, req, true)
			require.NotEqual(t, o.resp == nil, o.err == nil)
			if o.err != nil && strings.Contains(o.err.Error(), "it differs by:") {
				require.Less(t, len(o.err.Error()), 40_000)
			}
		}
		require.GreaterOrEqual(t, replayer.Remaining(), left-len(requests))
	})
}
