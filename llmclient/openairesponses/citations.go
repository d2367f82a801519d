package openairesponses

import (
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
	at := wire.CharactersOf(string(text))
	for more := c.Open('['); more; more = c.More(']') {
		one := c.Nested('{')
		if one == nil {
			continue
		}
		var inner wire.Cursor
		inner.Begin(one)
		cited := wire.ReadCitation(&inner)
		if cited.To > 0 {
			cited.Start = min(from+at.ByteOf(cited.From), most)
			cited.End = max(cited.Start, min(from+at.ByteOf(cited.To), most))
		}
		cited.Raw = wire.RawJSON(one)
		all = append(all, cited.Citation)
	}
	return all
}
