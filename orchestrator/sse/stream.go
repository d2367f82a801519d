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

	"github.com/segue-go/segue/orchestrator"
)

// stream is the response to one request. Events are sent by the goroutine of the request, comments
// by another while the run has nothing to tell.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	reading time.Duration // for what is left of the body; the server's own if not positive
	timeout time.Duration // for one write; none if not positive
	buf     bytes.Buffer
	begun   bool
	done    chan struct{} // closed by end
	beats   sync.WaitGroup

	mu    sync.Mutex // held while something is written
	wrote time.Time  // when that was last
	err   error      // of the first write that failed; nothing is written after it
}

// newStream begins nothing yet. The time for the body has ended: a run may take longer.
func newStream(w http.ResponseWriter, reading, timeout time.Duration) *stream {
	unlimitReads(w, reading)
	return &stream{w: w, control: http.NewResponseController(w), reading: reading, timeout: timeout, done: make(chan struct{})}
}

// limitReads sets the deadline for the body of a request, which counts for what the server reads of
// it to drop it, too. Not every ResponseWriter has one.
func limitReads(w http.ResponseWriter, timeout time.Duration) {
	if timeout > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
	}
}

// unlimitReads takes the deadline of limitReads away: HTTP/1 takes a connection for lost at it.
func unlimitReads(w http.ResponseWriter, timeout time.Duration) {
	if timeout > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
}

func setHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
}

// firstID has an id and no data, so that a browser tells nobody of it and knows an id from now on.
// One that asks again says it, even if it has been cut off before the first event; without one it
// would start a second run.
const firstID = "id: 0\n\n"

// begin sends the header and an id, and keeps the connection alive from now on; gone is called when
// a comment cannot be sent. The error says that nothing has been sent, because this ResponseWriter
// cannot stream.
func (s *stream) begin(keepAlive time.Duration, gone func()) error {
	setHeaders(s.w.Header())
	s.limit()
	limitReads(s.w, s.reading) // HTTP/1 reads what is left of the body before it answers
	err := s.control.Flush()
	unlimitReads(s.w, s.reading)
	if errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("sse: the ResponseWriter %T cannot be flushed: one that wraps another needs a method Unwrap: %w", s.w, err)
	}
	s.unlimit()
	s.begun, s.err = true, err
	_ = s.send([]byte(firstID)) // if it cannot be sent the first event cannot either
	if keepAlive > 0 {
		s.beats.Go(func() { s.keepAlive(keepAlive, gone) })
	}
	return nil
}

// end returns when nothing more is written by anybody.
func (s *stream) end() {
	close(s.done)
	s.beats.Wait()
	if s.begun {
		s.limit() // for what the server still has to write
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
func (s *stream) encode(e orchestrator.Event) ([]byte, error) {
	s.buf.Reset()
	s.buf.WriteString("id: ")
	s.buf.WriteString(idOf(e))
	s.buf.WriteString("\nevent: ")
	s.buf.WriteString(oneLine.Replace(string(e.Kind)))
	s.buf.WriteString("\ndata: ")
	encoder := json.NewEncoder(&s.buf) // writes one line, and its end
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return nil, fmt.Errorf("sse: the event %.64q cannot be written as JSON: %w", string(e.Kind), err)
	}
	s.buf.WriteByte('\n')
	return s.buf.Bytes(), nil
}

// idOf returns where an event stands in its run. It is never empty: a browser that asks again says
// the last id, and only so can it be told to stop asking.
func idOf(e orchestrator.Event) string {
	id := strconv.Itoa(e.Record)
	if e.Index > 0 {
		id += "/" + strconv.Itoa(e.Index)
	}
	return id
}

// oneLine keeps a kind, which may be somebody's own, from ending its line.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")

// send writes a block. An error means that the client cannot be reached.
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

// limit sets the deadline for what is written next. Not every ResponseWriter has one.
func (s *stream) limit() {
	if s.timeout <= 0 {
		s.unlimit()
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout))
}

// unlimit leaves the time between writes without a deadline: HTTP/2 ends a stream at it even if
// nothing is being written, and the server's own counts from the beginning.
func (s *stream) unlimit() { _ = s.control.SetWriteDeadline(time.Time{}) }
