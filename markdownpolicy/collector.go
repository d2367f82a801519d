package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// collector arranges parts in order. Neighbouring texts become one, without surrounding blanks, and
// a blank text is dropped. A thought may arrive in pieces, too.
type collector struct {
	parts   []Part
	repairs []Repair

	run        textBuffer // the text or thought that may still continue, without blanks before it
	thought    bool       // run is a thought
	start, end int        // its position, without surrounding blanks
	trimmed    int        // run[:trimmed] does not end in blanks

	released   int    // run[:released] has been released
	behind     int    // the position after the released part of run
	unreleased []Part // parts to be released
}

// text adds a piece of text at a position.
func (c *collector) text(s string, at int) { c.literal(s, at, at+len(s)) }

// literal adds text that represents the source between two positions.
func (c *collector) literal(s string, start, end int) {
	if c.thought {
		c.close()
	}
	c.append(s, start, end)
}

// think adds to the thought, which ends with endThought or at the next text.
func (c *collector) think(s string, start, end int) {
	if !c.thought {
		if textscan.Trim(s) == "" {
			return
		}
		c.close()
		c.thought = true
	}
	c.append(s, start, end)
}

// endThought ends the current thought, if there is one. The next thought is a new part.
func (c *collector) endThought() {
	if c.thought {
		c.close()
	}
}

func (c *collector) append(s string, start, end int) {
	if c.run.len() == 0 {
		kept := textscan.TrimLeft(s)
		if kept == "" {
			return
		}
		if end-start == len(s) {
			start += len(s) - len(kept)
		}
		c.start, c.behind, s = start, start, kept
	}
	if kept := textscan.TrimRight(s); kept != "" {
		c.trimmed = c.run.len() + len(kept)
		c.end = end
		if end-start == len(s) {
			c.end -= len(s) - len(kept)
		}
	}
	c.run.add(s)
}

// add adds a part. The source of a text may differ from it, as for an escaped mark.
func (c *collector) add(p Part) {
	if t, ok := p.Content.(messages.Text); ok {
		c.literal(t.Text, p.Start, p.End)
		return
	}
	c.close()
	c.parts = append(c.parts, p)
	c.unreleased = append(c.unreleased, p)
}

// close ends the text or thought.
func (c *collector) close() {
	switch {
	case c.trimmed > 0 && c.released == 0: // the whole text is one part
		whole := c.piece(0, c.start)
		c.parts, c.unreleased = append(c.parts, whole), append(c.unreleased, whole)
	case c.trimmed > 0:
		c.flush()
		c.parts = append(c.parts, c.piece(0, c.start))
	}
	c.run = textBuffer{}
	c.thought, c.trimmed, c.released = false, 0, 0
}

// flush adds the certain part of the text to unreleased.
func (c *collector) flush() {
	if c.trimmed > c.released {
		c.unreleased = append(c.unreleased, c.piece(c.released, c.behind))
		c.released, c.behind = c.trimmed, c.end
	}
}

// piece is the text of run after from; its position is start.
func (c *collector) piece(from, start int) Part {
	s := c.run.string()[from:c.trimmed]
	if c.thought {
		return Part{Content: messages.Thought{Text: s}, Start: start, End: c.end}
	}
	return Part{Content: messages.Text{Text: s}, Start: start, End: c.end}
}

// release returns the parts that are certain and were not yet released.
func (c *collector) release() []Part {
	c.flush()
	unreleased := c.unreleased
	c.unreleased = nil
	return unreleased
}

// textBuffer is a text that arrives in pieces, most often in one.
type textBuffer struct {
	one  string          // the whole text, while it is one piece
	many strings.Builder // the whole text after that
}

func (b *textBuffer) add(s string) {
	switch {
	case b.len() == 0:
		b.one = s
	case b.many.Len() == 0:
		b.many.WriteString(b.one)
		fallthrough
	default:
		b.many.WriteString(s)
	}
}

func (b *textBuffer) len() int { return max(len(b.one), b.many.Len()) }

func (b *textBuffer) string() string {
	if b.many.Len() == 0 {
		return b.one
	}
	return b.many.String()
}
