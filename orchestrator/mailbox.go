package orchestrator

import (
	"context"
	"sync"

	"github.com/segue-go/segue/nextstep"
)

// mailbox is how goroutines of a run reach its loop.
type mailbox struct {
	ready chan struct{} // receives when there is something to look at

	mu        sync.Mutex
	queue     []mail
	collected []mail        // room for the next queue
	events    int           // in the queue
	room      chan struct{} // closed when the queue is collected; nil: nobody waits for that
	closed    bool
}

// mail is what a goroutine has to say: one of its parts.
type mail struct {
	execution *execution      // whose effect is performed
	answer    nextstep.Answer // of the effect, or err
	err       error
	event     *Event    // to be told
	ask       *question // that somebody is to be asked
	reply     *Reply    // to the wait of a person's effect, or err
}

// refuse tells whoever asks that the effect is over.
func (m *mail) refuse() {
	if m.ask != nil {
		m.ask.answer <- answered{err: errOver}
	}
}

// open makes the mailbox ready. It is called before anybody else knows of it.
func (b *mailbox) open() {
	if b.ready == nil {
		b.ready = make(chan struct{}, 1)
	}
}

// post leaves a mail. It never waits, and is nothing once the run has ended: a question is refused
// then.
func (b *mailbox) post(m mail) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		m.refuse()
		return
	}
	b.queue = append(b.queue, m)
	if m.event != nil {
		b.events++
	}
	b.mu.Unlock()
	b.signal()
}

// signal has the loop look.
func (b *mailbox) signal() {
	select {
	case b.ready <- struct{}{}:
	default: // it will
	}
}

// unread is how many events wait for a consumer before those who make more have to wait as well, so
// that a slow consumer slows the run.
const unread = 256

// deliver is post for an event of which there may be many. It waits while the consumer is far
// behind, and returns when ctx is done.
func (b *mailbox) deliver(ctx context.Context, m mail) {
	b.mu.Lock()
	for b.events >= unread && !b.closed {
		if b.room == nil {
			b.room = make(chan struct{})
		}
		room := b.room
		b.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return
		}
		b.mu.Lock()
	}
	b.mu.Unlock()
	b.post(m)
}

// try is post for an event that may be lost while the consumer is far behind.
func (b *mailbox) try(m mail) {
	b.mu.Lock()
	full := b.events >= unread
	b.mu.Unlock()
	if !full {
		b.post(m)
	}
}

// collect returns what was posted since the last collect. It is valid until the next.
func (b *mailbox) collect() []mail {
	clear(b.collected)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.collected, b.queue, b.events = b.queue, b.collected[:0], 0
	b.makeRoom()
	return b.collected
}

func (b *mailbox) makeRoom() {
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
}

// close says that nobody looks any more, also to those whose questions nobody has looked at.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.queue {
		b.queue[i].refuse()
	}
	b.closed, b.queue = true, nil
	b.makeRoom()
}
