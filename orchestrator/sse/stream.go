package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// stream is the response to one request. The goroutine of the request sends events; another one
// sends comments while there are no events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	reading time.Duration // time to read the rest of the body; if not positive, the server's
	timeout time.Duration // time for one write; if not positive, none
	buf     bytes.Buffer
	last    orchestrator.Position // behind the last event that has one
	begun   bool
	done    chan struct{} // closed by end
	beats   sync.WaitGroup

	mu    sync.Mutex // held during a write
	wrote time.Time  // time of the last write
	err   error      // error of the first write that failed; nothing is written after it
}

// newStream makes a stream that has not begun. It removes the deadline for the body, because a run
// may take longer.
func newStream(w http.ResponseWriter, reading, timeout time.Duration) *stream {
	unlimitReads(w, reading)
	return &stream{w: w, control: http.NewResponseController(w), reading: reading, timeout: timeout, done: make(chan struct{})}
}

// limitReads sets the deadline for reading the body of a request, also for the part that the server
// reads and drops. Not every ResponseWriter supports it.
func limitReads(w http.ResponseWriter, timeout time.Duration) {
	if timeout > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
	}
}

// unlimitReads removes the deadline of limitReads; otherwise HTTP/1 treats the connection as lost
// when it expires.
func unlimitReads(w http.ResponseWriter, timeout time.Duration) {
	if timeout > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
}

func setHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // otherwise nginx buffers events
}

// firstID has an id and no data: a browser stores the id and reports no event. So a browser that
// reconnects sends an id even if it was cut off before the first event, and goes on where it was.
// Without an id it would start a second run.
func (s *stream) firstID() []byte { return []byte("id: " + s.id(new(machine.Event)) + "\n\n") }

// begin sends the header and an id, and then keeps the connection alive; gone is called when a
// comment cannot be sent. If this ResponseWriter cannot stream, begin returns an error and sends
// nothing.
func (s *stream) begin(keepAlive time.Duration, gone func()) error {
	setHeaders(s.w.Header())
	s.limit()
	limitReads(s.w, s.reading) // HTTP/1 reads the rest of the body before it answers
	err := s.control.Flush()
	unlimitReads(s.w, s.reading)
	if errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("sse: the ResponseWriter %T cannot be flushed: one that wraps another needs a method Unwrap: %w", s.w, err)
	}
	s.unlimit()
	s.begun, s.err = true, err
	_ = s.send(s.firstID()) // if it cannot be sent the first event cannot either
	if keepAlive > 0 {
		s.beats.Go(func() { s.keepAlive(keepAlive, gone) })
	}
	return nil
}

// end stops the comments, and returns when no write is in progress.
func (s *stream) end() {
	close(s.done)
	s.beats.Wait()
	if s.begun {
		s.limit() // for the server's last writes
	}
}

// keepAlive sends a comment whenever nothing was sent for that long.
func (s *stream) keepAlive(silence time.Duration, gone func()) {
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-timer.C:
		}
		wait, err := s.beat(silence)
		if err != nil {
			gone()
			return
		}
		timer.Reset(wait)
	}
}

// beat sends a comment if nothing was sent for that long, and returns when to look again.
func (s *stream) beat(silence time.Duration) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if quiet := time.Since(s.wrote); quiet < silence {
		return silence - quiet, nil
	}
	return silence, s.write([]byte(": nothing new\n\n"))
}

// encode returns an event as a block of the stream, valid until the next.
func (s *stream) encode(e machine.Event) ([]byte, error) {
	s.buf.Reset()
	s.buf.WriteString("id: ")
	s.buf.WriteString(s.id(&e))
	s.buf.WriteString("\nevent: ")
	s.buf.WriteString(oneLine.Replace(string(e.Kind)))
	s.buf.WriteString("\ndata: ")
	encoder := json.NewEncoder(&s.buf) // writes one line and a newline
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return nil, fmt.Errorf("sse: the event %.64q cannot be written as JSON: %w", string(e.Kind), err)
	}
	s.buf.WriteByte('\n')
	return s.buf.Bytes(), nil
}

// stands records the position of an event, whether it is sent or not.
func (s *stream) stands(e *machine.Event) {
	if e.Index > 0 {
		s.last = orchestrator.PositionOf(*e)
	}
}

// id returns the place from which the stream is taken up by a client for which this event is the
// last: behind it or, of one that no journal keeps, behind the one before. It is never empty: a
// browser that asks again says the last id, and only so can it be told to stop asking.
func (s *stream) id(e *machine.Event) string {
	if s.last.Record == 0 {
		return strconv.Itoa(e.Record)
	}
	return s.last.String()
}

// oneLine removes newlines from a kind, which users can choose.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")

// send writes a block. An error means that the client is gone.
func (s *stream) send(block []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(block)
}

// write writes and flushes. The lock is held.
func (s *stream) write(p []byte) error {
	if s.err != nil {
		return s.err
	}
	s.limit()
	if _, s.err = s.w.Write(p); s.err == nil {
		s.err = s.control.Flush()
	}
	s.unlimit()
	s.wrote = time.Now()
	return s.err
}

// limit sets the deadline for the next write. Not every ResponseWriter supports it.
func (s *stream) limit() {
	if s.timeout <= 0 {
		s.unlimit()
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout))
}

// unlimit removes the deadline between writes: HTTP/2 ends a stream at a deadline even if nothing
// is being written, and the server's own deadline counts from the beginning of the response.
func (s *stream) unlimit() { _ = s.control.SetWriteDeadline(time.Time{}) }
