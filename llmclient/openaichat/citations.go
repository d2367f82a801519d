package openaichat

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// sources collects the sources that a model names: annotations of its message (OpenAI, OpenRouter),
// context.citations of it (Azure), chunks of its content with reference_ids (Mistral), and the
// lists search_results and citations beside it (Perplexity, xAI). A chunk of a stream has new
// annotations, but its lists are the whole lists so far.
type sources struct {
	annotations []wire.Citation
	seen        map[string]bool // the annotations, raw
	results     []byte          // search_results, raw
	links       []byte          // citations, raw
	cursor      wire.Cursor
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
	s.keep(wire.Citation{Citation: messages.Citation{Raw: wire.RawJSON(raw)}})
}

func (s *sources) keep(c wire.Citation) {
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
func (s *sources) list(raw []byte) (read []wire.Citation) {
	if raw == nil {
		return nil
	}
	c := &s.cursor
	c.Begin(raw)
	for more := c.Open('['); more; more = c.More(']') {
		var one wire.Citation
		kind := c.Peek()
		from := c.At()
		switch kind {
		case '{':
			one = wire.ReadCitation(c)
		case '"':
			one.URL = string(c.Text())
		}
		if one.URL != "" || one.FileID != "" || one.Title != "" || one.Quote != "" {
			one.Raw = wire.RawJSON(raw[from:c.At()])
			read = append(read, one)
		}
	}
	return read
}

// of returns the citations of each text. Those without a place are for all texts, and stand at the
// last.
func (s *sources) of(texts []string) [][]messages.Citation {
	all := s.all()
	if len(all) == 0 || len(texts) == 0 {
		return nil
	}
	of := make([][]messages.Citation, len(texts))
	at := wire.CharactersOf(strings.Join(texts, ""))
	for _, c := range all {
		n := len(texts) - 1
		if c.From >= 0 && c.From < c.To {
			n = set(&c, texts, at.ByteOf(c.From), at.ByteOf(c.To))
		}
		of[n] = append(of[n], c.Citation)
	}
	return of
}

// all returns the annotations, and what only the lists beside the message name.
func (s *sources) all() []wire.Citation {
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
func set(one *wire.Citation, texts []string, start, end int) int {
	for n, text := range texts {
		if start < len(text) {
			one.Start, one.End = start, min(end, len(text))
			return n
		}
		start, end = start-len(text), end-len(text)
	}
	return len(texts) - 1
}
