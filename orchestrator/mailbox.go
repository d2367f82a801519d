package orchestrator

import (
	"context"
	"sync"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// mailbox passes messages from the goroutines of a run to its loop.
type mailbox struct {
	ready chan struct{} // receives when there is new mail

	mu        sync.Mutex
	queue     []mail
	collected []mail        // room for the next queue
	events    int           // number of events in the queue
	room      chan struct{} // closed when the queue is collected; nil: no goroutine waits for that
	closed    bool
}

// mail is one message of a goroutine.
type mail struct {
	execution *execution      // the execution that it comes from
	answer    nextstep.Answer // answer of the effect; or err is set
	err       error
	event     *machine.Event // event to emit
	ask       *question      // question to ask a person
	reply     *machine.Reply // reply to the wait of a person's effect; or err is set
}

// refuse answers the question of the mail with the error that the effect is over.
func (m *mail) refuse() {
	if m.ask != nil {
		m.ask.answer <- answered{err: errOver}
	}
}

// open makes the mailbox ready. It is called before other goroutines use it.
func (b *mailbox) open() {
	if b.ready == nil {
		b.ready = make(chan struct{}, 1)
	}
}

// post adds a mail. It never blocks. After the run has ended it drops the mail and refuses its
// question.
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

// signal wakes the loop.
func (b *mailbox) signal() {
	select {
	case b.ready <- struct{}{}:
	default: // a signal is pending
	}
}

// unread is the number of events that may wait for a consumer. Above it, goroutines that produce
// events block, so that a slow consumer slows the run.
const unread = 256

// deliver is post for frequent events. It blocks while the consumer is far behind, until ctx is
// done.
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

// try is post for an event that may be dropped if the consumer is far behind.
func (b *mailbox) try(m mail) {
	b.mu.Lock()
	full := b.events >= unread
	b.mu.Unlock()
	if !full {
		b.post(m)
	}
}

// collect returns the mail since the last collect. The slice is valid until the next collect.
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

// close closes the mailbox and refuses the questions in it.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.queue {
		b.queue[i].refuse()
	}
	b.closed, b.queue = true, nil
	b.makeRoom()
}
