package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/segue-go/segue/messages"
)

// maxRefused limits the thoughts that a client remembers as refused. When there are more, it
// forgets them all, which costs one refused request for each conversation that still has some.
const maxRefused = 4096

// Refused are the signed or encrypted thoughts that a server has refused, of each model: because
// another server or another account has made them, or for another conversation. Thoughts that came
// later are not among them. The zero Refused is ready, and safe for concurrent use.
type Refused struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]bool
}

// Has reports whether the thought with this extra was refused.
func (r *Refused) Has(model string, extra []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.keys) > 0 && r.keys[refusedKey(model, extra)]
}

// Add remembers all thoughts of a conversation that have one of these extras, since a server does
// not say reliably which it means.
func (r *Refused) Add(model string, h messages.History, extras ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range h {
		reply, _ := m.(messages.Assistant)
		for _, c := range reply.Content {
			t, _ := c.(messages.Thought)
			for _, name := range extras {
				if extra := t.Extras[name]; extra != nil {
					if r.keys == nil || len(r.keys) >= maxRefused {
						r.keys = map[[sha256.Size]byte]bool{}
					}
					r.keys[refusedKey(model, extra)] = true
				}
			}
		}
	}
}

// refusedKey is the same for an extra as it came and as a journal has it.
func refusedKey(model string, extra []byte) [sha256.Size]byte {
	b := bytes.NewBufferString(model + "\x00")
	if json.Compact(b, extra) != nil {
		b.Write(extra)
	}
	return sha256.Sum256(b.Bytes())
}
