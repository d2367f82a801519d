package openairesponses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient/openairesponses"
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
		provider().Answer(t, body)
	})
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
		provider().Answer(t, []byte(stream(append(list, all[len(all)-1])...)))
	}
}
