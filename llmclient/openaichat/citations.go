package openaichat

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// sources collects the sources that a model names: annotations of its message (OpenAI, OpenRouter),
// context.citations of it (Azure), chunks of its content with reference_ids (Mistral), and the
// lists search_results and citations beside it (Perplexity, xAI). A chunk of a stream has new
// annotations, but its lists are the whole lists so far.
type sources struct {
	annotations []citation
	seen        map[string]bool // the annotations, raw
	results     []byte          // search_results, raw
	links       []byte          // citations, raw
	cursor      wire.Cursor
}

// citation is a source with its place in the whole text, in characters.
type citation struct {
	messages.Citation
	start, end int
}

// add adds what an answer names beside its message.
func (s *sources) add(ans *answer) {
	if ans.results != nil {
		s.results = append(s.results[:0], ans.results...)
	}
	if ans.links != nil {
		s.links = append(s.links[:0], ans.links...)
	}
}

func (s *sources) none() bool { return s.annotations == nil && s.results == nil && s.links == nil }

// annotate adds the annotations of a message, or of a delta of it. One that comes again is left
// out.
func (s *sources) annotate(raw []byte) {
	for _, c := range s.list(raw) {
		s.keep(c)
	}
}

// refer adds a reference of Mistral's. Its ids name what the request held, such as the results of a
// tool: only the caller knows their sources.
func (s *sources) refer(raw []byte) {
	s.keep(citation{Citation: messages.Citation{Raw: bytes.Clone(raw)}})
}

func (s *sources) keep(c citation) {
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	if !s.seen[string(c.Raw)] {
		s.seen[string(c.Raw)] = true
		s.annotations = append(s.annotations, c)
	}
}

// list reads the sources of a list of objects and URLs. One without an address, a file, a title and
// words is none.
func (s *sources) list(raw []byte) (read []citation) {
	if raw == nil {
		return nil
	}
	c := &s.cursor
	c.Begin(raw)
	for more := c.Open('['); more; more = c.More(']') {
		var one citation
		kind := c.Peek()
		from := c.At()
		switch kind {
		case '{':
			one.read(c)
		case '"':
			one.URL = string(c.Text())
		}
		if one.URL != "" || one.FileID != "" || one.Title != "" || one.Quote != "" {
			one.Raw = bytes.Clone(raw[from:c.At()])
			read = append(read, one)
		}
	}
	return read
}

// read reads an object. OpenAI writes the fields into an object with the name of the type, others
// write them beside the type.
func (one *citation) read(c *wire.Cursor) {
	for more := c.Open('{'); more; more = c.More('}') {
		switch name := string(c.Name()); name {
		case "url_citation", "file_citation":
			one.read(c)
		case "url":
			one.URL = string(c.Text())
		case "title", "filename":
			one.Title = string(wire.OrElse(c.Text(), []byte(one.Title)))
		case "filepath": // Azure
			one.Title = string(wire.OrElse([]byte(one.Title), c.Text()))
		case "file_id":
			one.FileID = string(c.Text())
		case "content", "quote", "snippet":
			one.Quote = string(wire.OrElse(c.Text(), []byte(one.Quote)))
		case "start_index":
			one.start = integer(c)
		case "end_index":
			one.end = integer(c)
		}
	}
}

func integer(c *wire.Cursor) int {
	n, _ := c.Integer()
	return int(n)
}

// of returns the citations of each text. Those without a place are for all texts, and stand at the
// last.
func (s *sources) of(texts []string) [][]messages.Citation {
	all := s.all()
	if len(all) == 0 || len(texts) == 0 {
		return nil
	}
	of := make([][]messages.Citation, len(texts))
	bytesAt := offsets(texts, all)
	for _, c := range all {
		n := len(texts) - 1
		if c.start >= 0 && c.start < c.end {
			n = c.set(texts, bytesAt[c.start], bytesAt[c.end])
		}
		of[n] = append(of[n], c.Citation)
	}
	return of
}

// all returns the annotations, and what only the lists beside the message name.
func (s *sources) all() []citation {
	all := slices.Clip(s.annotations)
	named := map[string]bool{}
	for _, c := range all {
		named[c.URL] = true
	}
	for _, c := range slices.Concat(s.list(s.results), s.list(s.links)) {
		if c.URL == "" || !named[c.URL] {
			named[c.URL] = true
			all = append(all, c)
		}
	}
	return all
}

// set sets the place to bytes of one of the texts, and returns which. start and end are bytes of
// all of them, one after the other. A place behind the end becomes the last text as a whole.
func (one *citation) set(texts []string, start, end int) int {
	for n, text := range texts {
		if start < len(text) {
			one.Start, one.End = start, min(end, len(text))
			return n
		}
		start, end = start-len(text), end-len(text)
	}
	return len(texts) - 1
}

// offsets returns the bytes at which the characters begin that citations name. It reads each text
// once.
func offsets(texts []string, of []citation) map[int]int {
	var wanted []int
	for _, c := range of {
		wanted = append(wanted, c.start, c.end)
	}
	slices.Sort(wanted)
	at := map[int]int{}
	character, size := 0, 0
	for _, text := range texts {
		for len(text) > 0 {
			for len(wanted) > 0 && wanted[0] <= character {
				at[wanted[0]], wanted = size, wanted[1:]
			}
			if len(wanted) == 0 {
				return at
			}
			_, n := utf8.DecodeRuneInString(text)
			character, size, text = character+1, size+n, text[n:]
		}
	}
	for _, w := range wanted {
		at[w] = size
	}
	return at
}
