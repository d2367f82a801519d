package openaichat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

func cited(url, title string, start, end int, raw string) messages.Citation {
	return messages.Citation{URL: url, Title: title, Start: start, End: end, Raw: json.RawMessage(raw)}
}

func TestCitations_OfAMessage(t *testing.T) {
	const nested = `{"type":"url_citation","url_citation":{"start_index":3,"end_index":8,"url":"https://x","title":"X","content":"the words"}}`
	const flat = `{"type": "url_citation", "url": "https://y", "title": "Y", "start_index": 0, "end_index": 2}`
	const file = `{"type":"file_citation","file_id":"file-1","filename":"a.pdf","index":4}`
	const nestedFile = `{"type":"file_citation","text":"【1】","file_citation":{"file_id":"file-2","quote":"so"},"start_index":99,"end_index":100}`
	const parsed = `{"type":"file","file":{"hash":"h","name":"a.pdf","content":[]}}`
	quoted := cited("https://x", "X", 7, 12, nested)
	quoted.Quote = "the words"
	for name, test := range map[string]struct {
		fields, beside string
		want           []messages.Citation
	}{
		"none":                 {``, ``, nil},
		"empty":                {`,"annotations":[]`, `,"citations":[],"search_results":null`, nil},
		"not a list":           {`,"annotations":{"a":1}`, `,"citations":"x"`, nil},
		"url":                  {`,"annotations":[` + nested + `]`, ``, []messages.Citation{quoted}},
		"the same again":       {`,"annotations":[` + nested + `,` + nested + `]`, ``, []messages.Citation{quoted}},
		"flat":                 {`,"annotations":[7,` + flat + `]`, ``, []messages.Citation{cited("https://y", "Y", 0, 6, strings.ReplaceAll(flat, " ", ""))}},
		"file":                 {`,"annotations":[` + file + `]`, ``, []messages.Citation{{FileID: "file-1", Title: "a.pdf", Raw: json.RawMessage(file)}}},
		"nested file":          {`,"annotations":[` + nestedFile + `]`, ``, []messages.Citation{{FileID: "file-2", Quote: "so", Raw: json.RawMessage(nestedFile)}}},
		"no source":            {`,"annotations":[` + parsed + `,{"type":"url_citation"},null,"",[]]`, ``, nil},
		"Perplexity's links":   {``, `,"citations":["https://a","https://b"]`, []messages.Citation{cited("https://a", "", 0, 0, `"https://a"`), cited("https://b", "", 0, 0, `"https://b"`)}},
		"Perplexity's results": {``, `,"citations":["https://a","https://b"],"search_results":[{"title":"A","url":"https://a","date":null}]`, []messages.Citation{cited("https://a", "A", 0, 0, `{"title":"A","url":"https://a","date":null}`), cited("https://b", "", 0, 0, `"https://b"`)}},
		"beside an annotation": {`,"annotations":[` + nested + `]`, `,"citations":["https://x"]`, []messages.Citation{quoted}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sayJSON(t, `{"choices":[{"message":{"content":"é🙂 Hello"`+test.fields+`},"finish_reason":"stop"}]`+test.beside+`}`)
			resp, err := newClient(t, s).Complete(t.Context(), hello(), nil)
			require.NoError(t, err)
			require.Equal(t, []messages.AssistantContent{messages.Text{Text: "é🙂 Hello", Citations: test.want}}, resp.Message.Content)
		})
	}
}

// The offsets of a stream are those of the whole text, wherever its chunks end, and thoughts
// between texts do not count.
func TestCitations_OfAStream(t *testing.T) {
	const first = `{"type":"url_citation","url_citation":{"url":"https://a","start_index":1,"end_index":3}}`
	const second = `{"type":"url_citation","url_citation":{"url":"https://b","start_index":3,"end_index":50}}`
	chunks := []string{
		`{"citations":["https://p"],"choices":[{"delta":{"content":"éa"}}]}`,
		`{"choices":[{"delta":{"content":"b","annotations":[` + first + `]}}]}`,
		`{"choices":[{"delta":{"reasoning":"hm"}}]}`,
		`{"citations":["https://p","https://q"],"choices":[{"delta":{"content":"cd","annotations":[` + first + `,` + second + `]},"finish_reason":"stop"}]}`,
	}
	s := sayEvents(t, chunks...)
	resp, err := newClient(t, s).Complete(t.Context(), hello(), func(llmclient.Delta) {})
	require.NoError(t, err)
	require.Equal(t, []messages.AssistantContent{
		messages.Text{Text: "éab", Citations: []messages.Citation{cited("https://a", "", 2, 4, first)}},
		messages.Thought{Text: "hm"},
		messages.Text{Text: "cd", Citations: []messages.Citation{
			cited("https://b", "", 0, 2, second), cited("https://p", "", 0, 0, `"https://p"`), cited("https://q", "", 0, 0, `"https://q"`),
		}},
	}, resp.Message.Content)
}

// A reply without text has no place for sources.
func TestCitations_WithoutText(t *testing.T) {
	s := sayJSON(t, `{"citations":["https://a"],"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`)
	resp, err := newClient(t, s).Complete(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, []messages.AssistantContent{call("a", "f", "{}")}, resp.Message.Content)
}

// A long text with many citations is read once, not once for each of them: that would take minutes.
func TestCitations_AreLinear(t *testing.T) {
	var list strings.Builder
	for n := range 20_000 {
		if n > 0 {
			list.WriteByte(',')
		}
		data, _ := json.Marshal(map[string]any{"type": "url_citation", "url": "https://a", "start_index": 1_000_000 - n, "end_index": 1_000_001 - n})
		list.Write(data)
	}
	s := sayJSON(t, `{"choices":[{"message":{"content":"`+strings.Repeat("é", 1_000_000)+`","annotations":[`+list.String()+`]},"finish_reason":"stop"}]}`)
	resp, err := newClient(t, s).Complete(t.Context(), hello(), nil)
	require.NoError(t, err)
	text := resp.Message.Content[0].(messages.Text)
	require.Len(t, text.Citations, 20_000)
	require.Equal(t, 2*(1_000_000-19_999), text.Citations[19_999].Start)
}

// Azure, with data of the customer's own, and Mistral name sources that may have no address.
// Written by us in the form of Microsoft's schema of azureChatExtensionsMessageContext and
// Mistral's of ReferenceChunk, read in November 2026.
func TestCitations_OfAzureAndMistral(t *testing.T) {
	const page = `{"content":"Ninety days.","title":"Returns","url":"https://c/returns","filepath":"returns.md","chunk_id":"3"}`
	const local = `{"content":"By post.","title":null,"url":null,"filepath":"post.pdf","chunk_id":"0"}`
	const list = `"context":{"citations":[` + page + `,` + local + `,{},7],"intent":"[]"}`
	want := []messages.AssistantContent{messages.Text{Text: "Ninety [doc1].", Citations: []messages.Citation{
		{URL: "https://c/returns", Title: "Returns", Quote: "Ninety days.", Raw: json.RawMessage(page)},
		{Title: "post.pdf", Quote: "By post.", Raw: json.RawMessage(local)},
	}}}
	ask := func(s *server, onDelta func(llmclient.Delta)) []messages.AssistantContent {
		resp, err := newClient(t, s).Complete(t.Context(), hello(), onDelta)
		require.NoError(t, err)
		return resp.Message.Content
	}
	stream := func(llmclient.Delta) {}
	require.Equal(t, want, ask(sayJSON(t, `{"choices":[{"message":{"role":"assistant","content":"Ninety [doc1].",`+list+`},"finish_reason":"stop"}]}`), nil))
	require.Equal(t, want, ask(sayEvents(t, `{"choices":[{"delta":{"role":"assistant",`+list+`}}]}`,
		`{"choices":[{"delta":{"content":"Ninety "}}]}`, `{"choices":[{"delta":{"content":"[doc1]."},"finish_reason":"stop"}]}`), stream))

	const reference = `{"type":"reference","reference_ids":[0,2]}`
	want = []messages.AssistantContent{messages.Text{Text: "It is so.", Citations: []messages.Citation{{Raw: json.RawMessage(reference)}}}}
	chunks := `[{"type":"text","text":"It is"},` + reference + `,{"type":"reference","reference_ids":[]},{"type":"text","text":" so."}]`
	require.Equal(t, want, ask(sayJSON(t, `{"choices":[{"message":{"content":`+chunks+`},"finish_reason":"stop"}]}`), nil))
	require.Equal(t, want, ask(sayEvents(t, `{"choices":[{"delta":{"content":"It is"}}]}`, `{"choices":[{"delta":{"content":[`+reference+`]}}]}`,
		`{"choices":[{"delta":{"content":" so."},"finish_reason":"stop"}]}`), stream))
}
