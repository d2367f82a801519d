package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/segue-go/segue/messages"
)

// maxRefused limits the thoughts, and the tools, that a client remembers as refused. When there are
// more, it forgets them all, which costs one refused request for each conversation that still has
// some.
const maxRefused = 4096

// Refused are the signed or encrypted thoughts, or the tools, that a server has refused, each in a
// scope, such as a model. Thoughts that came later are not among them. The zero Refused is ready,
// and safe for concurrent use.
type Refused struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]bool
}

// Any reports whether any thought was refused.
func (r *Refused) Any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.keys) > 0
}

// Has reports whether the thought with this signature was refused, or with what only the server can
// read of it, or the tool with this definition.
func (r *Refused) Has(scope string, seal []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.keys) > 0 && r.keys[refusedKey(scope, seal)]
}

// Add remembers a thought or a tool as refused.
func (r *Refused) Add(scope string, seal []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil || len(r.keys) >= maxRefused {
		r.keys = map[[sha256.Size]byte]bool{}
	}
	r.keys[refusedKey(scope, seal)] = true
}

// AddThoughts remembers all sealed thoughts of a conversation as refused, each in the scope of its
// message: a server names none, or only the first.
func (r *Refused) AddThoughts(h messages.History, scope func(index int) string, seal func(messages.Thought) json.RawMessage) {
	for i, m := range h {
		reply, _ := m.(messages.Assistant)
		for _, c := range reply.Content {
			if t, ok := c.(messages.Thought); ok && seal(t) != nil {
				r.Add(scope(i), seal(t))
			}
		}
	}
}

// refusedKey is the same for a seal as it came and as a journal has it.
func refusedKey(scope string, seal []byte) [sha256.Size]byte {
	b := bytes.NewBufferString(scope + "\x00")
	if json.Compact(b, seal) != nil {
		b.Write(seal)
	}
	return sha256.Sum256(b.Bytes())
}
