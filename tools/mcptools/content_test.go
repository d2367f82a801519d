package mcptools

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
)

func texts(list ...string) (all []mcp.Content) {
	for _, t := range list {
		all = append(all, &mcp.TextContent{Text: t})
	}
	return all
}

func TestMapContent(t *testing.T) {
	size := int64(12)
	for name, c := range map[string]struct {
		res      mcp.CallToolResult
		text     string
		attached []messages.Attachment
	}{
		"texts":   {res: mcp.CallToolResult{Content: texts("one", "two\n")}, text: "one\ntwo\n"},
		"nothing": {},
		"picture": {
			res:      mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")}}},
			text:     "[picture, image/png, 3 bytes: it is attached for people, and you cannot see it]",
			attached: []messages.Attachment{{Name: "picture 1", MediaType: "image/png", URL: "data:image/png;base64,cG5n"}},
		},
		"sound of an odd type": {
			res:      mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{MIMEType: "a,b;", Data: []byte("mp3")}}},
			text:     "[sound, application/octet-stream, 3 bytes: it is attached for people, and you cannot see it]",
			attached: []messages.Attachment{{Name: "sound 1", MediaType: "application/octet-stream", URL: "data:application/octet-stream;base64,bXAz"}},
		},
		"too large": {
			res:  mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 100)}}},
			text: "[left out: picture, image/png, 100 bytes, which is too large]",
		},
		"link": {
			res:  mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain", Size: &size, Description: "The\x1b a."}}},
			text: "[link to a resource, a, file:///a, text/plain, 12 bytes, The a.]",
		},
		"resources": {
			res: mcp.CallToolResult{Content: []mcp.Content{
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "hello"}},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "text/plain; charset=utf-8", Blob: []byte("b")}},
				&mcp.EmbeddedResource{},
			}},
			text:     "[resource, file:///a]\nhello\n[resource, file:///b, text/plain, 1 bytes: it is attached for people, and you cannot see it]",
			attached: []messages.Attachment{{Name: "file:///b", MediaType: "text/plain", URL: "data:text/plain;base64,Yg=="}},
		},
		"structured": {
			res:  mcp.CallToolResult{Content: texts("Sunny."), StructuredContent: map[string]any{"b": 1.5, "a": "<x>"}},
			text: "Sunny.\n" + `{"a":"<x>","b":1.5}`,
		},
		"structured, with a number that is not exact": {
			res:  mcp.CallToolResult{StructuredContent: map[string]any{"list": []any{map[string]any{"id": 12345678901234567890.0}}}},
			text: `{"list":[{"id":12345678901234567000}]}` + "\n[numbers above 9007199254740992 are not exact here]",
		},
		"structured, with a large number that a text has": {
			res:  mcp.CallToolResult{Content: texts(`{"id":12345678901234567890}`), StructuredContent: map[string]any{"id": 12345678901234567890.0}},
			text: `{"id":12345678901234567890}`,
		},
		"structured, said already": {
			res:  mcp.CallToolResult{Content: texts("{ \"b\": 1.5, \"a\": \"<x>\" }"), StructuredContent: map[string]any{"b": 1.5, "a": "<x>"}},
			text: `{ "b": 1.5, "a": "<x>" }`,
		},
		"structured, a text around which is an object": {
			res:  mcp.CallToolResult{Content: texts("two hits\n"), StructuredContent: map[string]any{"result": "two hits"}},
			text: "two hits\n",
		},
		"structured, a text under another name": {
			res:  mcp.CallToolResult{Content: texts("# Title"), StructuredContent: map[string]any{"content": "# Title"}},
			text: "# Title",
		},
		"structured, a number around which is an object": {
			res:  mcp.CallToolResult{Content: texts("7.0"), StructuredContent: map[string]any{"result": 7.0}},
			text: "7.0",
		},
		"structured, a list with a text for each": {
			res:  mcp.CallToolResult{Content: texts("a", `{"n":1}`), StructuredContent: map[string]any{"result": []any{"a", map[string]any{"n": 1.0}}}},
			text: "a\n" + `{"n":1}`,
		},
		"structured, a list in one text": {
			res:  mcp.CallToolResult{Content: texts(`["a", "b"]`), StructuredContent: map[string]any{"result": []any{"a", "b"}}},
			text: `["a", "b"]`,
		},
		"structured, the lines of several texts": {
			res:  mcp.CallToolResult{Content: texts("a", "b"), StructuredContent: map[string]any{"content": "a\nb"}},
			text: "a\nb",
		},
		"structured, the same parts": {
			res: mcp.CallToolResult{
				Content:           []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 100)}},
				StructuredContent: map[string]any{"content": []any{map[string]any{"type": "image", "mimeType": "image/png", "data": strings.Repeat("A", 134) + "=="}}},
			},
			text: "[left out: picture, image/png, 100 bytes, which is too large]",
		},
		"structured, more than a text": {
			res:  mcp.CallToolResult{Content: texts("a"), StructuredContent: map[string]any{"result": "a", "more": true}},
			text: "a\n" + `{"more":true,"result":"a"}`,
		},
		"structured, a longer list": {
			res:  mcp.CallToolResult{Content: texts("a"), StructuredContent: map[string]any{"result": []any{"a", "b"}}},
			text: "a\n" + `{"result":["a","b"]}`,
		},
		"structured, an empty list": {
			res:  mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"result": []any{}}},
			text: `{"result":[]}`,
		},
		"structured, an object in an object": {
			res:  mcp.CallToolResult{Content: texts("a"), StructuredContent: map[string]any{"result": map[string]any{"result": "a"}}},
			text: "a\n" + `{"result":{"result":"a"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, attached := (&mapping{left: 50}).content(&c.res)
			require.Equal(t, c.text, text)
			require.Equal(t, c.attached, attached)
		})
	}
}

// Pictures that models see are shown if that is wanted, as far as there is room; the rest is
// attached or left out as before.
func TestMapContent_showsImages(t *testing.T) {
	res := mcp.CallToolResult{Content: []mcp.Content{
		&mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")},
		&mcp.ImageContent{MIMEType: "image/svg+xml", Data: []byte("svg")},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "image/jpeg", Blob: []byte("j")}},
		&mcp.ImageContent{MIMEType: "image/gif", Data: []byte("gif")},
		&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 100)},
	}}
	var shown []string
	m := mapping{left: 50, show: func(url string) bool { shown = append(shown, url); return len(shown) < 3 }}
	text, attached := m.content(&res)
	require.Equal(t, []string{"data:image/png;base64,cG5n", "data:image/jpeg;base64,ag==", "data:image/gif;base64,Z2lm"}, shown)
	require.Equal(t, []string{
		"[picture, image/png, 3 bytes: you can see it]",
		"[picture, image/svg+xml, 3 bytes: it is attached for people, and you cannot see it]",
		"[resource, file:///b, image/jpeg, 1 bytes: you can see it]",
		"[picture, image/gif, 3 bytes: it is attached for people, and you cannot see it]",
		"[left out: picture, image/png, 100 bytes, which is too large]",
	}, strings.Split(text, "\n"))
	require.Len(t, attached, 2)
}

// FuzzContent holds that whatever a server answers, the text is bounded by what it sent, and what
// is attached by the limit.
func FuzzContent(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"cG5n","mimeType":"image/png"}],"structuredContent":{"a":[1,null]}}`)
	f.Add(`{"content":[{"type":"resource","resource":{"uri":"x","blob":"YQ=="}},{"type":"resource_link","uri":"y","name":"z","size":-1}],"isError":true}`)
	f.Add(`{"content":[{"type":"audio","data":"","mimeType":";"},null]}`)
	f.Fuzz(func(t *testing.T, data string) {
		var res mcp.CallToolResult
		if json.Unmarshal([]byte(data), &res) != nil {
			return
		}
		const most = 64
		text, attached := (&mapping{left: most}).content(&res)
		total := 0
		for _, a := range attached {
			require.True(t, strings.HasPrefix(a.URL, "data:"+a.MediaType+";base64,"), a.URL)
			total += len(a.URL) - len("data:"+a.MediaType+";base64,")
		}
		require.LessOrEqual(t, total, (most+2)*4/3+4*len(attached))
		require.LessOrEqual(t, len(text), 12*len(data)+200*(len(res.Content)+1))
	})
}

// FuzzToolName holds that a name is refused, or becomes one that package tools takes, always the
// same, and another one than that of any other name.
func FuzzToolName(f *testing.F) {
	f.Add("", "read", "read.")
	f.Add("x_", "a/b", "a.b")
	f.Add("", strings.Repeat("a", 64), strings.Repeat("a", 65))
	f.Add("", "reаd", "read")
	f.Add("p-", "a\nb", "a b")
	f.Fuzz(func(t *testing.T, prefix, a, b string) {
		for _, r := range prefix {
			if !isNameRune(r) || len(prefix) > mostPrefix {
				return
			}
		}
		first, err := toolName(prefix, a)
		if err != nil {
			require.Empty(t, first)
			return
		}
		require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, first)
		require.True(t, utf8.ValidString(a))
		again, err := toolName(prefix, a)
		require.NoError(t, err)
		require.Equal(t, first, again)
		if second, err := toolName(prefix, b); err == nil && a != b && !isMadeUp(b) {
			require.NotEqual(t, first, second)
		}
	})
}

// isMadeUp reports whether a name looks like one that another name is mapped to: a server can make
// one up, and then one of the two tools is left out.
func isMadeUp(name string) bool {
	at := strings.LastIndexByte(name, '_')
	return at >= 0 && len(name)-at == 9
}

// A server cannot hide one tool behind another: where two have one name, the one whose name stays
// as it is has it.
func TestOffers_sameName(t *testing.T) {
	mapped, err := toolName("", "a.b")
	require.NoError(t, err)
	cfg, err := Config{Command: []string{"x"}}.withDefaults()
	require.NoError(t, err)
	s := &Toolset{cfg: cfg, redact: newRedactor(&cfg)}
	schema := map[string]any{"type": "object"}
	offers, found := s.offers(t.Context(), []*mcp.Tool{
		{Name: "a.b", InputSchema: schema},
		{Name: mapped, InputSchema: schema},
		nil,
		{Name: mapped, InputSchema: schema},
		{Name: "a\nb", InputSchema: schema},
		{Name: strings.Repeat("x", 129), InputSchema: schema},
		{Name: "no schema"},
		{Name: "list", InputSchema: map[string]any{"type": "array"}},
		{Name: "said", InputSchema: map[string]any{}},
	})
	require.Len(t, found, 2)
	require.Equal(t, mapped, found[0].Definition().Name)
	require.Equal(t, "said", found[1].Definition().Name)
	require.JSONEq(t, `{"type":"object"}`, string(found[1].Definition().Parameters))
	var why []string
	for _, o := range offers {
		why = append(why, o.LeftOut)
	}
	require.Equal(t, []string{
		"another tool of the server has the name " + mapped, "", "another tool of the server has the name " + mapped,
		errNameControl.Error(), errNameLong.Error(), errNameControl.Error(), "its input schema is not one of an object", "",
	}, why)
	require.Equal(t, `"a\nb"`, offers[3].Name)
}
