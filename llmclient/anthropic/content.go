package anthropic

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/messages"
)

const pdf = "application/pdf"

// pictures are the media types of images that the API takes.
var pictures = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// user writes the parts of a message.
func (e *encoder) user(index int, m messages.User) {
	for _, c := range m.Content {
		switch c := c.(type) {
		case messages.Text:
			e.textBlock(c.Text, c.Cache)
		case messages.Image:
			e.image(index, c)
		case messages.File:
			e.file(index, c)
		case messages.Audio:
			e.Fail("message %d has sound, which the API does not take: send a transcript as text", index)
		default:
			e.Fail("message %d has a part %T, which is none as a value", index, c)
		}
	}
}

func (e *encoder) image(index int, c messages.Image) {
	e.Open('{')
	e.Text("type", "image")
	e.Name("source")
	e.Open('{')
	if data, ok := parseDataURL(c.URL); ok {
		e.picture(index, data.mediaType, data)
	} else {
		e.address(index, "an image", c.URL)
	}
	e.Close('}')
	e.closeBlock(c.Cache)
}

// picture writes the source of an image that is in the request.
func (e *encoder) picture(index int, mediaType string, data dataURL) {
	if !slices.Contains(pictures, mediaType) {
		e.Fail("message %d has an image of type %q, and the API takes %s: convert it", index, mediaType, strings.Join(pictures, ", "))
	}
	e.encoded(index, "an image", mediaType, data)
}

// encoded writes the source of what is in the request, in base64.
func (e *encoder) encoded(index int, what, mediaType string, data dataURL) {
	text, ok := data.inBase64()
	if !ok {
		e.Fail("message %d has %s whose data URL cannot be read: it is neither in base64 nor in percents (RFC 2397)", index, what)
	}
	e.Text("type", "base64")
	e.Text("media_type", mediaType)
	e.Text("data", text)
}

// address writes the source of what the provider fetches itself.
func (e *encoder) address(index int, what, address string) {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		e.Fail("message %d has %s whose URL is neither an https URL nor a data URL", index, what)
	}
	e.Text("type", "url")
	e.Text("url", address)
}

// file writes a document, or an image if its type says so.
func (e *encoder) file(index int, f messages.File) {
	data, held := parseDataURL(f.URL)
	mediaType, _, _ := strings.Cut(strings.ToLower(f.MediaType), ";")
	if mediaType == "" && held {
		mediaType = data.mediaType
	}
	kind := "document"
	if strings.HasPrefix(mediaType, "image/") {
		kind = "image"
	}
	e.Open('{')
	e.Text("type", kind)
	e.Name("source")
	e.Open('{')
	switch {
	case f.ID != "" && f.URL != "":
		e.Fail("message %d has a file with both an ID and a URL: leave one of them out", index)
	case f.ID != "":
		e.Text("type", "file")
		e.Text("file_id", f.ID)
	case held && kind == "image":
		e.picture(index, mediaType, data)
	case held:
		e.document(index, mediaType, data)
	case kind == "document" && mediaType != "" && mediaType != pdf:
		e.Fail("message %d has a file of type %q by address, and the API fetches only PDF and images: give it as a data URL", index, mediaType)
	default:
		e.address(index, "a file", f.URL)
	}
	e.Close('}')
	if kind == "document" {
		if f.Name != "" {
			e.Text("title", f.Name)
		}
		if e.cfg.Citations {
			e.B = append(e.B, `,"citations":{"enabled":true}`...)
		}
	}
	e.closeBlock(f.Cache)
}

// document writes the source of a PDF or a text that is in the request.
func (e *encoder) document(index int, mediaType string, data dataURL) {
	if mediaType == pdf {
		e.encoded(index, "a file", pdf, data)
		return
	}
	text, ok := data.bytes()
	if !ok || !utf8.Valid(text) || !isText(mediaType) {
		e.Fail("message %d has a file of type %q, and the API takes PDF, text in UTF-8 and images: convert it", index, mediaType)
	}
	e.Text("type", "text")
	e.Text("media_type", "text/plain")
	e.Text("data", string(text))
}

// isText reports whether a file of that type is text.
func isText(mediaType string) bool {
	switch mediaType {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript":
		return true
	default:
		return strings.HasPrefix(mediaType, "text/")
	}
}

// dataURL is what a data URL holds (RFC 2397).
type dataURL struct {
	mediaType string // in lower case, without parameters
	base64    bool
	data      string // as in the URL
}

func parseDataURL(address string) (d dataURL, ok bool) {
	const scheme = "data:"
	if len(address) < len(scheme) || !strings.EqualFold(address[:len(scheme)], scheme) {
		return d, false
	}
	kind, data, ok := strings.Cut(address[len(scheme):], ",")
	if !ok {
		return d, false
	}
	kind, d.base64 = strings.CutSuffix(strings.ToLower(kind), ";base64")
	d.mediaType, _, _ = strings.Cut(kind, ";")
	if d.mediaType == "" {
		d.mediaType = "text/plain"
	}
	d.data = data
	return d, true
}

// bytes returns what the URL holds.
func (d dataURL) bytes() ([]byte, bool) {
	if !d.base64 {
		text, err := url.PathUnescape(d.data)
		return []byte(text), err == nil
	}
	b, err := base64.StdEncoding.DecodeString(d.data)
	return b, err == nil
}

// inBase64 returns what the URL holds in base64; false if it cannot be read.
func (d dataURL) inBase64() (string, bool) {
	if d.base64 {
		return d.data, true
	}
	b, ok := d.bytes()
	return base64.StdEncoding.EncodeToString(b), ok
}
