package mcptools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// mostAttached bounds the bytes of pictures and other files that one result attaches.
const mostAttached = 1 << 20

// result returns the result of a call as text for the model, without keys of the Config, and
// attaches what is not text, or shows it to the model.
func (s *Toolset) result(ctx context.Context, res *mcp.CallToolResult) string {
	m := mapping{left: mostAttached}
	if s.cfg.ShowImages {
		m.show = func(url string) bool { return tools.ShowImage(ctx, messages.Image{URL: url}) == nil }
	}
	text, attached := m.content(res)
	for _, a := range attached {
		tools.Attach(ctx, a)
	}
	return s.redact.result(text)
}

// content converts a result of a server. Texts stay as they are, one below the other. What is not
// text is shown or attached, as far as there is room, and named in the text. Structured content is
// added as compact JSON, unless the content says the same.
func (m *mapping) content(res *mcp.CallToolResult) (text string, attached []messages.Attachment) {
	for _, c := range res.Content {
		m.add(c)
	}
	if v := res.StructuredContent; v != nil && !m.says(v, res.Content) && !m.says(onlyMember(v), res.Content) {
		m.structured(v)
	}
	return strings.Join(m.parts, "\n"), m.attached
}

// mapping is a result in progress.
type mapping struct {
	parts    []string
	texts    []string // those of the parts that are texts of the server
	attached []messages.Attachment
	left     int                   // bytes that may still be attached or shown
	show     func(url string) bool // shows the model a picture, and reports whether it does; nil: none is shown
}

// seen are the media types of pictures that models see.
var seen = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

func (m *mapping) say(format string, args ...any) {
	m.parts = append(m.parts, "["+fmt.Sprintf(format, args...)+"]")
}

func (m *mapping) add(c mcp.Content) {
	switch c := c.(type) {
	case *mcp.TextContent:
		m.parts, m.texts = append(m.parts, c.Text), append(m.texts, c.Text)
	case *mcp.ImageContent:
		m.attach("picture", "", c.MIMEType, c.Data)
	case *mcp.AudioContent:
		m.attach("sound", "", c.MIMEType, c.Data)
	case *mcp.ResourceLink:
		m.link(c)
	case *mcp.EmbeddedResource:
		m.resource(c.Resource)
	case nil:
	default:
		m.say("left out: a part of the kind %T", c)
	}
}

func (m *mapping) link(l *mcp.ResourceLink) {
	about := []string{"link to a resource", clean(l.Name, 200), clean(l.URI, 2000), clean(l.MIMEType, 100)}
	if l.Size != nil {
		about = append(about, fmt.Sprintf("%d bytes", *l.Size))
	}
	about = append(about, clean(l.Description, 500))
	m.say("%s", joinSome(about))
}

func joinSome(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

func (m *mapping) resource(r *mcp.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob != nil:
		m.attach("resource", r.URI, r.MIMEType, r.Blob)
	default:
		m.say("%s", joinSome([]string{"resource", clean(r.URI, 2000), clean(r.MIMEType, 100)}))
		m.parts, m.texts = append(m.parts, r.Text), append(m.texts, r.Text)
	}
}

// attach attaches a file, or shows it as a picture, if it is small enough, and says so.
func (m *mapping) attach(what, uri, mediaType string, data []byte) {
	if parsed, _, err := mime.ParseMediaType(mediaType); err != nil {
		mediaType = "application/octet-stream"
	} else {
		mediaType = parsed
	}
	about := joinSome([]string{what, clean(uri, 2000), mediaType, fmt.Sprintf("%d bytes", len(data))})
	if len(data) > m.left {
		m.say("left out: %s, which is too large", about)
		return
	}
	m.left -= len(data)
	url := "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
	if m.show != nil && seen[mediaType] && m.show(url) {
		m.say("%s: you can see it", about)
		return
	}
	name := clean(uri, 200)
	if name == "" {
		name = fmt.Sprintf("%s %d", what, len(m.attached)+1)
	}
	m.attached = append(m.attached, messages.Attachment{Name: name, MediaType: mediaType, URL: url})
	m.say("%s: it is attached for people, and you cannot see it", about)
}

// onlyMember returns the value in an object that has one member, as servers put around a text or a
// list, and else v.
func onlyMember(v any) any {
	if object, ok := v.(map[string]any); ok && len(object) == 1 {
		for _, only := range object {
			return only
		}
	}
	return v
}

// says reports whether the content of a result says a value.
func (m *mapping) says(v any, content []mcp.Content) bool {
	says := func(text string) bool { return isText(text, v) }
	if slices.ContainsFunc(m.texts, says) || says(strings.Join(m.texts, "\n")) {
		return true
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) != len(content) {
		return false
	}
	parts, _ := json.Marshal(content) // it was read as JSON
	return slices.EqualFunc(m.texts, list, isText) || says(string(parts))
}

// isText reports whether a text is a value: as a text, or as JSON.
func isText(text string, v any) bool {
	if s, ok := v.(string); ok && strings.TrimSpace(s) == strings.TrimSpace(text) {
		return true
	}
	var read any
	return json.Unmarshal([]byte(text), &read) == nil && reflect.DeepEqual(read, v)
}

// structured adds structured content.
func (m *mapping) structured(v any) {
	data, err := jsonform.Marshal(v)
	if err != nil {
		m.say("left out: structured content that is not JSON")
		return
	}
	m.parts = append(m.parts, string(data))
	if hasInexact(v) {
		m.say("numbers above %d are not exact here", int64(mostExact))
	}
}

// mostExact is up to where all whole numbers are exact: the SDK reads numbers as float64.
const mostExact = 1 << 53

// hasInexact reports whether a value has a number that may be another than the server sent.
func hasInexact(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) > mostExact
	case []any:
		return slices.ContainsFunc(v, hasInexact)
	case map[string]any:
		for _, one := range v {
			if hasInexact(one) {
				return true
			}
		}
	}
	return false
}
