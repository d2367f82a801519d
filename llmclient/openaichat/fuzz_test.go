package openaichat_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/openaichat"
)

// FuzzJSON compares the scanner with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[1,2.5e-3,-0,"a\n\u00e9\ud83d\ude00",null,true,false]`, `{"a":{"b":[]}}`, `{"a":1,}`, `[01]`, `"\x"`, "\"\x01\"", `[1 2]`, `{"a" 1}`,
		`nul`, `"abc`, `-`, `1.`, `1e`, "\"\xff\"", `{"a":1}x`, ` [ ] `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) > 500 {
			return // deeper than the scanner allows
		}
		require.Equal(t, json.Valid(b), openaichat.ValidJSON(b))
		var s string
		require.NoError(t, json.Unmarshal(openaichat.AppendString(nil, string(b)), &s))
		require.Equal(t, strings.ToValidUTF8(string(b), "\ufffd"), oneMark(s))
	})
}

// oneMark joins adjacent replacement characters: strings.ToValidUTF8 writes one for a run of
// invalid bytes.
func oneMark(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\ufffd", "\xff"), "\ufffd")
}

// FuzzDecode compares the decoder with encoding/json.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		chunk(`"content":"hi"`), chunk(`"content":"\u00e9\n\"\\\/\ud83d\ude00\ud83d"`, `"finish_reason":"stop"`), whole(`"content":"x"`, `"stop"`),
		chunk(`"content":null,"reasoning":"a","reasoning_content":"b","refusal":"c"`), `{"choices":[]}`, `{"choices":[{"delta":{"content":5}}]}`,
		chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b"}]`), `{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`,
		`{"id":1,"choices":[{"index":"x","delta":null}]}`, `[]`, `{"model":"\ud800"}`, "{\"id\":\"\xff\"}", `{"a":[[[{}]]],"choices":[{"finish_reason":"stop","logprobs":{"content":[{"token":"x","logprob":-0.1}]}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := openaichat.Decode(data)
		valid := json.Valid(data)
		if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) < 500 {
			require.Equal(t, valid, got.OK)
		}
		var tree any
		if json.Unmarshal(data, &tree) != nil || hasTwins(data) { // a number may be too large for Go
			return
		}
		want := decodeTree(object(tree))
		if want.Content != got.Content && want.Content != "" { // JSON, written otherwise
			require.JSONEq(t, want.Content, got.Content)
			got.Content = want.Content
		}
		require.Equal(t, want, got)
	})
}

// contentText returns content as a text: a string, or other JSON that is no list.
func contentText(v any) string {
	switch v := v.(type) {
	case nil, []any:
		return ""
	case string:
		return v
	default:
		raw, _ := json.Marshal(v)
		return string(raw)
	}
}

// hasTwins reports whether an object has a name twice. The meaning of such an object is undefined.
func hasTwins(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	var names []map[string]bool
	var isName []bool
	for {
		tok, err := dec.Token()
		if err != nil {
			return false
		}
		top := len(names) - 1
		switch tok {
		case json.Delim('{'), json.Delim('['):
			if top >= 0 {
				isName[top] = true
			}
			names, isName = append(names, map[string]bool{}), append(isName, true)
			if tok == json.Delim('[') {
				names[top+1] = nil
			}
			continue
		case json.Delim('}'), json.Delim(']'):
			names, isName = names[:top], isName[:top]
			continue
		}
		if top < 0 || names[top] == nil {
			continue
		}
		if name, ok := tok.(string); ok && isName[top] {
			if names[top][name] {
				return true
			}
			names[top][name] = true
			isName[top] = false
			continue
		}
		isName[top] = true
	}
}

func decodeTree(m map[string]any) openaichat.Plain {
	p := openaichat.Plain{OK: true, ID: text(m["id"]), Model: text(m["model"])}
	for _, ch := range list(m["choices"]) {
		choice := object(ch)
		if choice == nil {
			continue
		}
		delta := object(choice["delta"])
		p.Choice, p.Delta, p.Message = true, delta != nil, object(choice["message"]) != nil
		p.Finish = text(choice["finish_reason"])
		p.Content, p.Refusal = contentText(delta["content"]), text(delta["refusal"])
		p.Reasoning, p.ReasoningC = text(delta["reasoning"]), text(delta["reasoning_content"])
		for _, c := range objects(delta["tool_calls"]) {
			if c == nil {
				continue
			}
			fn, custom := object(c["function"]), object(c["custom"])
			if custom != nil || fn["input"] != nil {
				return p // another test says which of them counts
			}
			p.CallIDs = append(p.CallIDs, text(c["id"]))
			p.CallNames = append(p.CallNames, text(fn["name"]))
			p.CallArgs = append(p.CallArgs, text(fn["arguments"]))
		}
		break
	}
	return p
}

// FuzzAnswer gives the client any answer. The client must not panic, must keep its promises, and
// must not treat half a reply as complete.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		events(chunk(`"content":"hi"`), chunk(``, `"finish_reason":"stop"`), "[DONE]"), whole(`"content":"x"`, `"stop"`),
		events(chunk(openCall), chunk(`"reasoning_details":[{"type":"reasoning.text","text":"h","index":0}]`), "[DONE]"),
		events(chunk(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"a","function":{"name":"f","arguments":"[]"}}]`)),
		`{"citations":["https://a",1,{"url":"b"}],"search_results":[{"url":"https://a","title":"A"}],"choices":[{"message":{"content":"é🙂x","annotations":[` +
			`{"type":"url_citation","url_citation":{"url":"u","start_index":1,"end_index":9}},{"url":"v","start_index":-1,"end_index":1e300},{"file_id":"f","start_index":9,"end_index":10}]},"finish_reason":"stop"}]}`,
		"event: error\ndata: {\"error\":1}\n\n", `{"error":{"error":[{"message":{}}]}}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		provider().Answer(t, body)
	})
}
