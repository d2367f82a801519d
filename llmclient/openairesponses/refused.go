package openairesponses

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/segue-go/segue/messages"
)

// maxRefused limits the reasoning items that a client remembers as refused. When there are more, it
// forgets them all, which costs one refused request for each conversation that still has some.
const maxRefused = 4096

// refusedItems are the reasoning items that a server cannot read, of each model: another server, or
// another account, has encrypted them. Items that came later are not among them.
type refusedItems struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]bool
}

// has reports whether an item was refused.
func (r *refusedItems) has(model string, raw []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.keys) > 0 && r.keys[refusedKey(model, raw)]
}

// add remembers all reasoning items of a conversation: the server does not say which one it means.
func (r *refusedItems) add(model string, h messages.History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range h {
		reply, ok := m.(messages.Assistant)
		if !ok {
			continue
		}
		for _, c := range reply.Content {
			if t, ok := c.(messages.Thought); ok && t.Extras[extraReasoning] != nil {
				if r.keys == nil || len(r.keys) >= maxRefused {
					r.keys = map[[sha256.Size]byte]bool{}
				}
				r.keys[refusedKey(model, t.Extras[extraReasoning])] = true
			}
		}
	}
}

// refusedKey is the same for an item as it came and as a journal has it.
func refusedKey(model string, raw []byte) [sha256.Size]byte {
	b := bytes.NewBufferString(model + "\x00")
	if json.Compact(b, raw) != nil {
		b.Write(raw)
	}
	return sha256.Sum256(b.Bytes())
}
