package openaichat

import (
	"cmp"
	"strings"

	"github.com/segue-go/segue/messages"
)

// content writes a text: as a string, or as a list of one part if it has a cache mark. An empty
// text is a string without its mark, since servers that heed marks refuse empty parts.
func (e *encoder) content(at place, text string, cache messages.Cache) {
	if mark := e.mark(at, cache); mark == "" || text == "" {
		e.text("content", text)
		return
	}
	e.name("content")
	e.open('[')
	e.textPart(at, text, cache)
	e.close(']')
}

// user writes the content: a single text as a string, anything else as a list of parts. A cache
// mark of the message stands at its last part.
func (e *encoder) user(index int, m messages.User) {
	last := len(m.Content) - 1
	if last < 0 {
		if m.Cache != "" {
			e.fail("message %d has a Cache, but no part to mark", index)
		}
		e.text("content", "")
		return
	}
	if t, ok := m.Content[0].(messages.Text); ok && last == 0 {
		e.content(place{message: index}, t.Text, cmp.Or(t.Cache, m.Cache))
		return
	}
	e.name("content")
	e.open('[')
	for n, c := range m.Content {
		cache := messages.CacheNone
		if n == last {
			cache = m.Cache
		}
		e.userPart(place{message: index, part: n}, c, cache)
	}
	e.close(']')
}

// userPart writes a part. Its own cache mark counts before the given one.
func (e *encoder) userPart(at place, c messages.UserContent, cache messages.Cache) {
	switch c := c.(type) {
	case messages.Text:
		e.textPart(at, c.Text, cmp.Or(c.Cache, cache))
	case messages.Image:
		e.takes(images, at)
		e.image(at, c, cache)
	case messages.File:
		e.open('{')
		e.file(at, c)
		e.cache(at, cmp.Or(c.Cache, cache))
		e.close('}')
	case messages.Audio:
		e.open('{')
		e.audio(at, c)
		e.cache(at, cmp.Or(c.Cache, cache))
		e.close('}')
	default:
		e.fail("message %d has a part %T, which is none as a value", at.message, c)
	}
}

// textPart writes a text as a part; an empty one goes without its mark.
func (e *encoder) textPart(at place, text string, cache messages.Cache) {
	e.open('{')
	e.text("type", "text")
	e.text("text", text)
	if mark := e.mark(at, cache); text != "" {
		e.b = append(e.b, mark...)
	}
	e.close('}')
}

func (e *encoder) image(at place, c messages.Image, cache messages.Cache) {
	e.open('{')
	e.text("type", "image_url")
	e.name("image_url")
	e.open('{')
	e.text("url", c.URL)
	if c.Detail != "" {
		e.text("detail", c.Detail)
	}
	e.close('}')
	e.cache(at, cmp.Or(c.Cache, cache))
	e.close('}')
}

// file writes the fields of a document.
func (e *encoder) file(at place, f messages.File) {
	e.takes(files, at)
	isData := strings.HasPrefix(f.URL, "data:")
	switch {
	case (f.URL == "") == (f.ID == ""):
		e.fail("%s: a File has either a URL or an ID", at)
	case f.ID == "" && !isData && !strings.HasPrefix(f.URL, "https://"):
		e.fail("%s: the URL of a File must be an https or a data URL", at)
	case f.ID == "" && !isData:
		e.takes(fileURLs, at)
	}
	switch {
	case e.mistral && f.ID != "":
		e.text("type", "file")
		e.text("file_id", f.ID)
		return
	case e.mistral:
		e.text("type", "document_url")
		e.text("document_url", f.URL)
		if f.Name != "" {
			e.text("document_name", f.Name)
		}
		return
	}
	e.text("type", "file")
	e.name("file")
	e.open('{')
	if f.ID != "" {
		e.text("file_id", f.ID)
	} else {
		e.text("filename", fileName(f))
		e.text("file_data", f.URL)
	}
	e.close('}')
}

// fileName returns the name of a file. OpenAI wants one beside the bytes.
func fileName(f messages.File) string {
	const pdf = "application/pdf"
	switch {
	case f.Name != "":
		return f.Name
	case f.MediaType == pdf, strings.HasPrefix(f.URL, "data:"+pdf):
		return "document.pdf"
	default:
		return "document"
	}
}

// audio writes the fields of a sound.
func (e *encoder) audio(at place, a messages.Audio) {
	e.takes(sounds, at)
	head, data, isURL := strings.Cut(a.URL, ",")
	switch {
	case !isURL || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64"):
		e.fail("%s: the URL of an Audio must be a data URL with base64", at)
	case a.Format == "":
		e.fail(`%s: an Audio has a Format, such as "wav" or "mp3"`, at)
	}
	e.text("type", "input_audio")
	if e.mistral {
		e.text("input_audio", data)
		return
	}
	e.name("input_audio")
	e.open('{')
	e.text("data", data)
	e.text("format", a.Format)
	e.close('}')
}

// toolResult writes the content of a tool message: a string, or a list of parts if it has images or
// a cache mark, which stands at its last part.
func (e *encoder) toolResult(index int, m messages.Tool) {
	at, text := inMessage(index), m.ForModel()
	if len(m.Images) == 0 {
		e.content(at, text, m.Cache)
		return
	}
	e.takes(toolImages, at)
	e.takes(images, at)
	e.name("content")
	e.open('[')
	if text != "" {
		e.textPart(at, text, "")
	}
	for n, image := range m.Images {
		cache := messages.CacheNone
		if n == len(m.Images)-1 {
			cache = m.Cache
		}
		e.image(at, image, cache)
	}
	e.close(']')
}

// cache writes a cache mark, if there is one.
func (e *encoder) cache(at place, c messages.Cache) { e.b = append(e.b, e.mark(at, c)...) }

// mark returns the member that is a cache mark, with the comma before it; "" if there is none.
func (e *encoder) mark(at place, c messages.Cache) string {
	if c == messages.CacheNone {
		return ""
	}
	e.takes(cacheMarks, at)
	switch c {
	case messages.Cache5m:
		return `,"cache_control":{"type":"ephemeral"}`
	case messages.Cache1h:
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	default:
		e.fail("%s: unknown Cache %q", at, c)
		return ""
	}
}
