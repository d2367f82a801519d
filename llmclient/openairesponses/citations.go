package openairesponses

import (
	"bytes"
	"unicode/utf8"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// citations returns the annotations of the parts of a message. Their places count from the
// beginning of the whole text.
func citations(list []part, whole string) (all []messages.Citation) {
	from := 0
	for i := range list {
		p := &list[i]
		if p.annotations != nil {
			all = append(all, annotations(p.annotations, p.text, from, len(whole))...)
		}
		from += len(p.text)
	}
	return all
}

func annotations(raw, text []byte, from, most int) (all []messages.Citation) {
	var c wire.Cursor
	c.Begin(raw)
	at := charactersOf(text)
	for more := c.Open('['); more; more = c.More(']') {
		one := c.Nested('{')
		if one == nil {
			continue
		}
		cited, begin, end := annotation(one)
		if end > 0 {
			cited.Start = min(from+at.byteOf(begin), most)
			cited.End = max(cited.Start, min(from+at.byteOf(end), most))
		}
		cited.Raw = bytes.Clone(one)
		all = append(all, cited)
	}
	return all
}

// annotation reads an annotation, and its place in characters; an end of 0 or less means that it
// has none. A file_citation has one place, the index; the index of a file_path is not a place.
func annotation(raw []byte) (cited messages.Citation, begin, end int64) {
	var c wire.Cursor
	c.Begin(raw)
	var kind string
	var at int64
	for more := c.Open('{'); more; more = c.More('}') {
		switch string(c.Name()) {
		case "type":
			kind = string(c.Text())
		case "start_index":
			begin = c.Index()
		case "end_index":
			end = c.Index()
		case "index":
			at = c.Index()
		case "url":
			cited.URL = string(c.Text())
		case "title", "filename":
			if title := c.Text(); len(title) > 0 {
				cited.Title = string(title)
			}
		case "file_id":
			cited.FileID = string(c.Text())
		}
	}
	if kind == "file_citation" {
		begin, end = at, at
	}
	return cited, begin, end
}

// characters are the places of the characters of a text.
type characters struct {
	size   int   // of the text, in bytes
	starts []int // where each begins, in bytes; nil if each is one byte
}

func charactersOf(text []byte) characters {
	c := characters{size: len(text)}
	if utf8.RuneCount(text) == len(text) {
		return c
	}
	for at := range string(text) {
		c.starts = append(c.starts, at)
	}
	return c
}

// byteOf returns where a character begins; behind the last, that is the end of the text.
func (c characters) byteOf(n int64) int {
	switch {
	case n <= 0:
		return 0
	case c.starts == nil:
		return int(min(n, int64(c.size)))
	case n < int64(len(c.starts)):
		return c.starts[n]
	default:
		return c.size
	}
}
