package anthropic

import (
	"slices"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// cacheMark returns the member that marks a block, with the comma before it; "" if there is none.
func (e *encoder) cacheMark(c messages.Cache) string {
	mark, known := wire.CacheMark(c)
	switch {
	case !known:
		e.Fail("Cache is %q; it is 5m, 1h or empty", c)
	case c == messages.Cache1h && e.short:
		e.Fail("a Cache of 1h comes after one of 5m, in the order tools, system prompt, messages, and the API takes only the other order")
	}
	if mark != "" {
		e.marks++
		e.short = e.short || c == messages.Cache5m
	}
	return mark
}

// cache marks the object that is being written.
func (e *encoder) cache(c messages.Cache) { e.B = append(e.B, e.cacheMark(c)...) }

// closeBlock marks the block that is being written, and ends it.
func (e *encoder) closeBlock(c messages.Cache) {
	e.cache(c)
	e.last, e.done = len(e.B), c != messages.CacheNone
	e.Close('}')
}

// cacheMessage marks the message that was just written: its last block, unless that is marked.
// Thoughts cannot be marked.
func (e *encoder) cacheMessage(c messages.Cache, index int) {
	switch {
	case c == messages.CacheNone || e.done:
	case e.last == 0:
		e.Fail("message %d has Cache, but nothing that can be cached: set it on another message", index)
	default:
		e.B = slices.Insert(e.B, e.last, []byte(e.cacheMark(c))...)
	}
}
