package mcptools

import (
	"strings"
	"sync"
)

// tail keeps the last bytes that were written to it.
type tail struct {
	redact *redactor
	most   int

	mu   sync.Mutex
	held []byte // at most twice what is needed
	cut  bool
}

// Write keeps the end of p. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	need := t.most + t.redact.longest() // a secret at the beginning of the tail is seen whole
	t.held = append(t.held, p[max(0, len(p)-need):]...)
	t.cut = t.cut || len(p) > need
	if len(t.held) > 2*need {
		t.held, t.cut = append(t.held[:0], t.held[len(t.held)-need:]...), true
	}
	return len(p), nil
}

// String returns the end of what was written, without secrets.
func (t *tail) String() string {
	t.mu.Lock()
	text, cut := string(t.held), t.cut
	t.mu.Unlock()
	text = t.redact.text(text)
	if longest := t.redact.longest(); cut && longest > 1 { // it may begin within a secret
		text = text[min(len(text), longest-1):]
	}
	if len(text) > t.most {
		text, cut = text[len(text)-t.most:], true
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if cut {
		text = "[…]" + text
	}
	return text
}
