package openaichat

import (
	"cmp"
	"strings"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// content writes a text: as a string, or as a list of one part if it has a cache mark. An empty
// text is a string without its mark, since servers that heed marks refuse empty parts.
func (e *encoder) content(at place, text string, cache messages.Cache) {
	if mark := e.mark(at, cache); mark == "" || text == "" {
		e.Text("content", text)
		return
	}
	e.List("content", 1, func(int) { e.textPart(at, text, cache) })
}

// user writes the content: a single text as a string, anything else as a list of parts. A cache
// mark of the message stands at its last part.
func (e *encoder) user(index int, m messages.User) {
	last := len(m.Content) - 1
	if last < 0 {
		if m.Cache != "" {
			e.Fail("message %d has a Cache, but no part to mark", index)
		}
		e.Text("content", "")
		return
	}
	if t, ok := m.Content[0].(messages.Text); ok && last == 0 {
		e.content(place{message: index}, t.Text, cmp.Or(t.Cache, m.Cache))
		return
	}
	e.List("content", len(m.Content), func(n int) {
		cache := messages.CacheNone
		if n == last {
			cache = m.Cache
		}
		e.userPart(place{message: index, part: n}, m.Content[n], cache)
	})
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
		e.Open('{')
		e.file(at, c)
		e.cache(at, cmp.Or(c.Cache, cache))
		e.Close('}')
	case messages.Audio:
		e.Open('{')
		e.audio(at, c)
		e.cache(at, cmp.Or(c.Cache, cache))
		e.Close('}')
	default:
		e.Fail("message %d has a part %T, which is none as a value", at.message, c)
	}
}

// textPart writes a text as a part; an empty one goes without its mark.
func (e *encoder) textPart(at place, text string, cache messages.Cache) {
	e.Open('{')
	e.Text("type", "text")
	e.Text("text", text)
	if mark := e.mark(at, cache); text != "" {
		e.B = append(e.B, mark...)
	}
	e.Close('}')
}

func (e *encoder) image(at place, c messages.Image, cache messages.Cache) {
	e.Open('{')
	e.Text("type", "image_url")
	e.Name("image_url")
	e.Open('{')
	e.Text("url", c.URL)
	if c.Detail != "" {
		e.Text("detail", c.Detail)
	}
	e.Close('}')
	e.cache(at, cmp.Or(c.Cache, cache))
	e.Close('}')
}

// file writes the fields of a document.
func (e *encoder) file(at place, f messages.File) {
	e.takes(files, at)
	isData := strings.HasPrefix(f.URL, "data:")
	switch {
	case (f.URL == "") == (f.ID == ""):
		e.Fail("%s: a File has either a URL or an ID", at)
	case f.ID == "" && !isData && !strings.HasPrefix(f.URL, "https://"):
		e.Fail("%s: the URL of a File must be an https or a data URL", at)
	case f.ID == "" && !isData:
		e.takes(fileURLs, at)
	}
	switch {
	case e.mistral && f.ID != "":
		e.Text("type", "file")
		e.Text("file_id", f.ID)
		return
	case e.mistral:
		e.Text("type", "document_url")
		e.Text("document_url", f.URL)
		if f.Name != "" {
			e.Text("document_name", f.Name)
		}
		return
	}
	e.Text("type", "file")
	e.Name("file")
	e.Open('{')
	if f.ID != "" {
		e.Text("file_id", f.ID)
	} else {
		e.Text("filename", wire.FileName(f))
		e.Text("file_data", f.URL)
	}
	e.Close('}')
}

// audio writes the fields of a sound.
func (e *encoder) audio(at place, a messages.Audio) {
	e.takes(sounds, at)
	head, data, isURL := strings.Cut(a.URL, ",")
	switch {
	case !isURL || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64"):
		e.Fail("%s: the URL of an Audio must be a data URL with base64", at)
	case a.Format == "":
		e.Fail(`%s: an Audio has a Format, such as "wav" or "mp3"`, at)
	}
	e.Text("type", "input_audio")
	if e.mistral {
		e.Text("input_audio", data)
		return
	}
	e.Name("input_audio")
	e.Open('{')
	e.Text("data", data)
	e.Text("format", a.Format)
	e.Close('}')
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
	e.Name("content")
	e.Open('[')
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
	e.Close(']')
}

// cache writes a cache mark, if there is one.
func (e *encoder) cache(at place, c messages.Cache) { e.B = append(e.B, e.mark(at, c)...) }

// mark returns the member that is a cache mark, with the comma before it; "" if there is none.
func (e *encoder) mark(at place, c messages.Cache) string {
	if c == messages.CacheNone {
		return ""
	}
	e.takes(cacheMarks, at)
	mark, known := wire.CacheMark(c)
	if !known {
		e.Fail("%s: unknown Cache %q", at, c)
	}
	return mark
}
