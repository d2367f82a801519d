// Package schemamemo keeps what was compiled last. Compiling a schema takes longer than a short
// run, and a program that makes an Orchestrator for each request compiles the same ones again and
// again.
package schemamemo

import "sync"

// Bytes bounds the texts in one generation of a Memo.
const Bytes = 256 << 10

// Memo keeps what was compiled last, by its text. It holds two generations: what is used moves to
// the younger one, and when that is full, the older one is forgotten. The zero Memo is empty. It is
// safe for concurrent use.
type Memo[T any] struct {
	mu         sync.Mutex
	young, old map[string]*T
	bytes      int // of the texts in young
}

// Compile returns what a text was compiled to, and compiles it unless it is known. Errors are not
// kept.
func (m *Memo[T]) Compile(text []byte, compile func() (*T, error)) (*T, error) {
	if known := m.known(text); known != nil {
		return known, nil
	}
	compiled, err := compile()
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.keep(string(text), compiled)
	}
	return compiled, err
}

// known returns what a text was compiled to, or nil.
func (m *Memo[T]) known(text []byte) *T {
	m.mu.Lock()
	defer m.mu.Unlock()
	if compiled := m.young[string(text)]; compiled != nil {
		return compiled
	}
	compiled := m.old[string(text)]
	if compiled != nil {
		m.keep(string(text), compiled)
	}
	return compiled
}

// keep adds to the younger generation. What is too long for it is not kept.
func (m *Memo[T]) keep(text string, compiled *T) {
	if len(text) > Bytes || m.young[text] != nil {
		return
	}
	if m.young == nil || m.bytes+len(text) > Bytes {
		m.young, m.old, m.bytes = map[string]*T{}, m.young, 0
	}
	m.young[text] = compiled
	m.bytes += len(text)
}
