package openairesponses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openairesponses"
	"github.com/segue-go/segue/messages"
)

// FuzzDecode compares the decoder of events with encoding/json.
func FuzzDecode(f *testing.F) {
	for _, seed := range everything().events() {
		f.Add([]byte(seed))
	}
	for _, seed := range []string{`{"type":1,"delta":null,"item":[]}`, `[]`, "{\"delta\":\"\xff\\ud800\"}", `{"item":{"a":[{}]},"part":{"x":-0.1e9}`, `{"response":{}}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := openairesponses.Decode(data)
		if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > 500 {
			return // deeper than the decoder allows
		}
		require.Equal(t, json.Valid(data), got.OK)
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || bytes.Count(data, []byte(`"type"`)) > 1 {
			return
		}
		for name, have := range map[string]string{"item": got.Item, "part": got.Part, "response": got.Response} {
			if raw := want[name]; have != "" || len(raw) > 0 && raw[0] == '{' {
				require.Equal(t, string(raw), have, name)
			}
		}
	})
}

// FuzzAnswer gives the client any answer. The client must not panic, must keep its promises, and
// what it returns must go back as JSON.
func FuzzAnswer(f *testing.F) {
	twoTexts := speech{items: []part{text("a"), toolCall("a", "f", `{"x":1}`), thought("e", "b"), text("c")}}
	for _, seed := range []string{
		stream(everything().events()...), everything().whole(), stream(twoTexts.events()...), twoTexts.whole(),
		stream(speech{items: []part{text("so"), toolCall("a", "f", `{"x":`)}, status: "incomplete", reason: "max_output_tokens"}.events()...),
		stream(half()...) + stream(failed(`{"code":"server_error","message":"m"}`)), "event: error\ndata: {\"error\":1}\n\n", `{"error":{"error":[{"message":{}}]}}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		checkAnswer(t, body)
	})
}

func checkAnswer(t *testing.T, body []byte) {
	t.Helper()
	client := newClient(t, nowhere(), from(func() io.Reader { return bytes.NewReader(body) }))
	var got pieces
	resp, err := client.Complete(t.Context(), hello(), got.add)
	if err != nil {
		var e *llmclient.Error
		require.True(t, errors.As(err, &e))
		require.NotEmpty(t, e.Code)
		require.True(t, utf8.ValidString(e.Error()), e.Error())
		checkMessage(t, e.Partial)
		return
	}
	require.Equal(t, resp.Message.Text(), got.join(llmclient.DeltaText))
	require.Equal(t, resp.Message.Thought(), got.join(llmclient.DeltaThought))
	require.True(t, utf8.ValidString(resp.Message.Text()))
	require.NotEmpty(t, resp.Finish)
	cut := resp.Finish == llmclient.FinishLength || resp.Finish == llmclient.FinishContentFilter
	require.Equal(t, resp.Finish == llmclient.FinishToolCalls, !cut && len(resp.Message.Calls()) > 0)
	checkMessage(t, resp.Message)
	sentFor(t, &llmclient.Request{Messages: messages.History{messages.UserText("x"), resp.Message}})
}

// Streams whose events are left out, repeated, swapped or given to other items keep the promises.
func TestAnswer_shuffledEvents(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	said := everything()
	said.items = append(said.items, text("And ", "so."), part{kind: "refusal", id: "msg_3", pieces: []string{"No", "."}})
	all := said.events()
	for range prove.DepthOr(200, 600) {
		list := slices.Clone(all)
		for range 1 + random.IntN(6) {
			i, j := random.IntN(len(list)), random.IntN(len(list))
			switch random.IntN(4) {
			case 0:
				list = slices.Delete(list, i, i+1)
			case 1:
				list = slices.Insert(list, i, list[j])
			case 2:
				list[i], list[j] = list[j], list[i]
			case 3:
				at := regexp.MustCompile(`"output_index":\d`)
				list[i] = at.ReplaceAllString(list[i], fmt.Sprintf(`"output_index":%d`, random.IntN(8)))
			}
		}
		checkAnswer(t, []byte(stream(append(list, all[len(all)-1])...)))
	}
}

// However a stream is cut into pieces, it is the same reply.
func TestStream_inPiecesOfAnySize(t *testing.T) {
	body := stream(everything().events()...)
	want, err := ask(t, nowhere(), from(func() io.Reader { return strings.NewReader(body) }))
	require.Nil(t, err)
	for _, cut := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		resp, err := ask(t, nowhere(), from(func() io.Reader { return cut(strings.NewReader(body)) }))
		require.Equal(t, want, must(t, resp, err))
	}
}

func checkMessage(t *testing.T, m messages.Assistant) {
	ids := map[string]bool{}
	for _, c := range m.Content {
		var extras messages.Extras
		switch c := c.(type) {
		case messages.ToolCall:
			require.NotEmpty(t, c.ID)
			require.False(t, ids[c.ID], "ids are unique")
			require.NotEmpty(t, c.Arguments)
			ids[c.ID] = true
			extras = c.Extras
		case messages.Thought:
			extras = c.Extras
		case messages.Text:
			for _, cited := range c.Citations {
				require.LessOrEqual(t, 0, cited.Start)
				require.LessOrEqual(t, cited.Start, cited.End)
				require.LessOrEqual(t, cited.End, len(c.Text))
			}
		}
		for name, raw := range extras {
			require.True(t, json.Valid(raw), name)
		}
	}
	for name, raw := range m.Extras {
		require.True(t, json.Valid(raw), name)
	}
}
