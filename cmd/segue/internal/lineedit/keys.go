package lineedit

import (
	"bytes"
	"errors"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

const (
	pasteMarks   = "\x1b[?2004h" // have a terminal mark what is pasted
	noPasteMarks = "\x1b[?2004l"
	escapeWait   = 50 * time.Millisecond // how long the rest of a key may take that begins as Esc does
	maxKeyLength = 32
)

// What is around what is pasted.
var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// now is over at once.
var now = func() <-chan time.Time {
	over := make(chan time.Time)
	close(over)
	return over
}()

// next returns the next key, or what is pasted. What is shown is painted if it has to be awaited.
func (e *Editor) next() (tea.Msg, error) {
	c, err := e.at.Next(now)
	if errors.Is(err, ErrNoKey) {
		e.paint()
		c, err = e.at.Next(nil)
	}
	key := []byte{c}
	for err == nil && !isWhole(key) {
		var patience <-chan time.Time
		if !bytes.HasPrefix(key, pasteBegin) {
			patience = time.After(escapeWait)
		}
		switch c, err = e.at.Next(patience); {
		case err == nil:
			key = append(key, c)
		case errors.Is(err, ErrResized), errors.Is(err, ErrAnew):
			err = nil // all is painted after the key
		}
	}
	if err != nil && !errors.Is(err, ErrNoKey) {
		return nil, err
	}
	if pasted, ok := bytes.CutPrefix(key, pasteBegin); ok {
		return tea.PasteMsg{Content: string(bytes.ToValidUTF8(bytes.TrimSuffix(pasted, pasteEnd), nil))}, nil
	}
	_, event := new(uv.EventDecoder).Decode(key)
	if pressed, ok := event.(uv.KeyPressEvent); ok {
		return tea.KeyPressMsg(pressed), nil
	}
	return nil, nil
}

// isWhole reports whether all of a key is there.
func isWhole(key []byte) bool {
	if key[0] != '\x1b' {
		return utf8.FullRune(key)
	}
	last := key[len(key)-1]
	switch {
	case len(key) == 1:
		return false
	case bytes.HasPrefix(key, pasteBegin):
		return bytes.HasSuffix(key, pasteEnd)
	case key[1] == '\x1b':
		return isWhole(key[1:])
	case key[1] == 'O':
		return len(key) > 2
	case key[1] == '[':
		return len(key) > 2 && last >= '@' && last <= '~' || len(key) == maxKeyLength
	default:
		return utf8.FullRune(key[1:])
	}
}
