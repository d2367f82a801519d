package llmclienttest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// canned answers each request with what body returns, and keeps what was sent last.
type canned struct {
	body func() io.Reader
	sent string
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, _ := io.ReadAll(r.Body)
	c.sent = string(sent)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(c.body()), Request: r,
		ProtoMajor: 1, ContentLength: -1,
	}, nil
}

// from returns a client of a server that answers so.
func (h HTTP) from(body func() io.Reader) (llmclient.Client, *canned) {
	c := &canned{body: body}
	return h.New(Settings{URL: "http://nowhere.test", Key: secret, Retries: -1, Client: &http.Client{Transport: c}}), c
}

// A reply whose connection breaks at any byte, or that ends there, is an error that says so with
// what has come, or the whole reply: never another one that looks complete.
func (h HTTP) cut(t *testing.T) {
	var made []messages.ToolCall // a reply that was cut by its limit lacks the last one
	for _, body := range h.Replies {
		cut, broken := 0, false
		c, _ := h.from(func() io.Reader {
			if broken {
				return io.MultiReader(strings.NewReader(body[:cut]), iotest.ErrReader(io.ErrUnexpectedEOF))
			}
			return strings.NewReader(body[:cut])
		})
		cut = len(body)
		want, failed := Ask(t, c, true)
		require.Nil(t, failed)
		require.NotEmpty(t, want.Message.Calls())
		made = append(made, want.Message.Calls()...)
		for _, broken = range []bool{false, true} {
			for cut = 0; cut < len(body); cut += max(1, h.Step) {
				got, err := Ask(t, c, true)
				if err == nil {
					require.Equal(t, want.Message, got.Message, body[:cut])
					require.Equal(t, want.Finish, got.Finish)
					require.True(t, got.Usage.Estimated > 0 || got.Usage == want.Usage, "a usage that comes last may be missing")
					continue
				}
				require.Contains(t, []llmclient.Code{llmclient.CodeUnavailable, llmclient.CodeTruncated}, err.Code, body[:cut])
				require.True(t, strings.HasPrefix(want.Message.Text(), err.Partial.Text()), body[:cut])
				require.Subset(t, made, err.Partial.Calls(), body[:cut])
			}
		}
	}
}

// Whatever pieces the network delivers, the reply and what is heard of it are the same.
func (h HTTP) inPieces(t *testing.T) {
	for _, body := range h.Replies {
		pieces := func(r io.Reader) io.Reader { return r }
		c, _ := h.from(func() io.Reader { return pieces(strings.NewReader(body)) })
		type heard struct {
			reply *llmclient.Response
			list  []llmclient.Delta
		}
		hear := func() (all heard) {
			reply, err := c.Complete(t.Context(), hello(), func(d llmclient.Delta) { all.list = append(all.list, d) })
			require.NoError(t, err)
			all.reply = reply
			return all
		}
		want := hear()
		for _, pieces = range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			require.Equal(t, want, hear())
		}
	}
}

// A request that goes on with a conversation begins with the last one, byte for byte, whatever the
// model has said: so the provider's cache has it.
func (h HTTP) prefix(t *testing.T) {
	asked := 0
	c, server := h.from(func() io.Reader { return strings.NewReader(h.Turns[asked]) })
	req := hello()
	req.Messages = append(messages.History{messages.System{Text: "Be brief."}}, req.Messages...)
	for _, name := range []string{"f", "g"} {
		req.Tools = append(req.Tools, tools.Definition{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	var last map[string]json.RawMessage
	for asked = range h.Turns {
		resp, err := c.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		var now map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(server.sent), &now))
		if asked > 0 {
			rest, ok := bytes.CutPrefix(now[h.Body[0]], bytes.TrimSuffix(last[h.Body[0]], []byte("]")))
			require.True(t, ok && (rest[0] == ',' || rest[0] == ']'), "after\n%s\nit sends\n%s", last[h.Body[0]], server.sent)
			for _, name := range h.Body[1:] {
				require.Equal(t, string(last[name]), string(now[name]))
			}
		}
		last = now
		req.Messages = append(req.Messages, answered(resp.Message)...)
	}
}

// answered is a reply and what comes behind it: results of its calls, or a next question.
func answered(m messages.Assistant) messages.History {
	h := messages.History{m}
	for _, c := range m.Calls() {
		h = append(h, messages.Tool{ToolOutput: messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Output: "seen", Untrusted: c.Name == "g"}})
	}
	if len(m.Calls()) == 0 {
		h = append(h, messages.UserText("go on"))
	}
	return h
}

// Answer gives the client any answer of status 200. The client must not panic, must keep its
// promises, and must send back what it made of the answer, the same before and after it was stored.
// It is for fuzzing.
func (h HTTP) Answer(t *testing.T, body []byte) {
	t.Helper()
	c, server := h.from(func() io.Reader { return bytes.NewReader(body) })
	resp, err := Ask(t, c, true)
	if err != nil {
		require.True(t, utf8.ValidString(err.Error()), err.Error())
		h.sentBack(t, c, server, err.Partial)
		return
	}
	require.True(t, utf8.ValidString(resp.Message.Text()))
	require.NotEmpty(t, resp.Finish)
	cut := resp.Finish == llmclient.FinishLength || resp.Finish == llmclient.FinishContentFilter || resp.Finish == llmclient.FinishRefusal
	require.Equal(t, resp.Finish == llmclient.FinishToolCalls, !cut && len(resp.Message.Calls()) > 0)
	h.sentBack(t, c, server, resp.Message)
}

// sentBack checks that a reply, or a part of one, obeys the laws of a conversation.
func (h HTTP) sentBack(t *testing.T, c llmclient.Client, server *canned, m messages.Assistant) {
	t.Helper()
	if m.Empty() {
		return
	}
	for _, part := range m.Content {
		said, _ := part.(messages.Text)
		for _, cited := range said.Citations {
			require.True(t, cited.Raw == nil || json.Valid(cited.Raw))
			require.True(t, cited.URL+cited.FileID+cited.Title+cited.Quote != "" || cited.Raw != nil, "a citation of nothing")
			require.True(t, 0 <= cited.Start && cited.Start <= cited.End && cited.End <= len(said.Text), "%d to %d of %q", cited.Start, cited.End, said.Text)
			require.True(t, utf8.ValidString(said.Text[cited.Start:cited.End]))
		}
		if call, ok := part.(messages.ToolCall); ok {
			require.NotEmpty(t, call.Arguments)
		}
	}
	history := append(messages.History{messages.UserText("x")}, answered(m)...)
	require.NoError(t, history.Validate())
	stored, err := history.MarshalJSON()
	require.NoError(t, err)
	var again messages.History
	require.NoError(t, again.UnmarshalJSON(stored))
	var sent [2]string
	for i, list := range []messages.History{history, again} {
		server.sent = ""
		_, _ = c.Complete(t.Context(), &llmclient.Request{Messages: list}, nil)
		require.True(t, json.Valid([]byte(server.sent)))
		sent[i] = server.sent
	}
	require.Equal(t, sent[0], sent[1], "the same before and after it was stored")
}
