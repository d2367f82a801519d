// Package repeats notices a text that goes on and on repeating one block.
package repeats

import (
	"bytes"
	"strings"

	"github.com/segue-go/segue/internal/textcut"
)

// Bounds say how much repetition is too much: a block of at most Block bytes stands at the end more
// than Times times, which are more than Bytes bytes. Bytes counts as at least two of the longest
// blocks. They must be greater than zero.
type Bounds struct{ Block, Times, Bytes int }

// Usual are the usual bounds.
var Usual = Bounds{Block: 512, Times: 24, Bytes: 4 << 10}

// Tail follows a text as it comes. It keeps the last four blocks, and looks for a period of the end
// once a block: then it compares each byte with the one a period before. So each byte is a bounded
// amount of work, whatever the text is.
type Tail struct {
	Bounds
	Size   int    // of the text so far
	recent []byte // the end of the text
	since  int    // bytes since the last look
	period int    // of the end; 0: none is known
	run    int    // how many bytes at the end equal the byte a period before
}

// Reset begins another text.
func (t *Tail) Reset() {
	t.Size, t.recent, t.since, t.period, t.run = 0, t.recent[:0], 0, 0, 0
}

// Add adds a piece of the text, and reports whether the text repeats itself too much.
func (t *Tail) Add(piece string) (much bool) {
	t.Size += len(piece)
	for len(piece) > 0 {
		n := min(len(piece), t.Block-t.since)
		t.recent = append(t.recent, piece[:n]...)
		t.follow(n)
		if t.since += n; t.since == t.Block {
			t.look()
		}
		much = much || t.period > 0 && t.period+t.run > max(t.Bytes, 2*t.Block, t.Times*t.period)
		piece = piece[n:]
	}
	return much
}

// follow compares the last n bytes with those a period before.
func (t *Tail) follow(n int) {
	for i := len(t.recent) - n; i < len(t.recent) && t.period > 0; i++ {
		if t.run++; t.recent[i] != t.recent[i-t.period] {
			t.period, t.run = 0, 0
		}
	}
}

// look finds the period of the end, if none is known: how far back the last block stands once more,
// at most a block. A text that repeats a block for more than two of the longest has this period
// and no shorter one, and had no room for more than three since the last look.
func (t *Tail) look() {
	t.since = 0
	end := len(t.recent)
	if t.period == 0 && end >= 2*t.Block {
		last, before := t.recent[end-t.Block:], t.recent[end-2*t.Block:end-1]
		if !bytes.Contains(before, last[max(0, t.Block-16):]) {
			// As in nearly every text.
		} else if at := bytes.LastIndex(before, last); at >= 0 {
			t.period = t.Block - at
			for i := end - 1; i >= t.period && t.recent[i] == t.recent[i-t.period]; i-- {
				t.run++
			}
		}
	}
	if kept := 3 * t.Block; end > kept {
		t.recent = t.recent[:copy(t.recent, t.recent[end-kept:])]
	}
}

// Once returns a text without the repetitions at its end: the block stands there once, or nearly.
// A text whose end repeats no block of the usual size is returned as it is.
func Once(text string) string {
	t := Tail{Bounds: Usual}
	t.Add(text)
	t.look()
	return strings.TrimRight(text[:textcut.After(text, len(text)-t.run)], "\n")
}
