package wire

import (
	"bytes"
	"errors"
	"io"
)

const bufferSize = 8 << 10

// Reader reads an answer: as an event stream, event by event, or as a whole. Its source limits the
// size: it must fail beyond it. Call Reset first.
//
// It follows the event stream format of the WHATWG HTML standard, section 9.2.6, with one
// exception: an event that is cut off by the end of the stream is returned, because servers leave
// out the last blank line.
type Reader struct {
	src    io.Reader
	buf    []byte
	lo, hi int   // read but not used yet: buf[lo:hi]
	seen   int   // this many bytes of it contain no line end
	skipLF bool  // the last line ended in CR at the end of the data: a following LF belongs to it
	err    error // of src, once it has ended
	name   []byte
	data   []byte
	cutOff bool // no blank line followed the last event: the stream may have ended within it
}

// Reset makes r read from src. It keeps its buffers.
func (r *Reader) Reset(src io.Reader) {
	*r = Reader{src: src, buf: r.buf, name: r.name, data: r.data}
}

// fill reads more from src, and fails if there is no more.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.lo > 0 {
		r.hi = copy(r.buf, r.buf[r.lo:r.hi])
		r.lo = 0
	}
	if r.hi == len(r.buf) {
		r.buf = append(r.buf, make([]byte, max(bufferSize, len(r.buf)))...)
	}
	for range 100 {
		var n int
		n, r.err = r.src.Read(r.buf[r.hi:])
		r.hi += n
		if n > 0 {
			return nil
		}
		if r.err != nil {
			return r.err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// Start skips byte order marks and blanks, and returns the beginning of the answer: at least n
// bytes, unless it is shorter or src fails. The next read returns that failure.
func (r *Reader) Start(n int) []byte {
	for {
		rest := bytes.TrimLeft(r.buf[r.lo:r.hi], "\ufeff \t\r\n")
		r.lo = r.hi - len(rest)
		if len(rest) >= n || r.fill() != nil {
			return r.buf[r.lo:r.hi]
		}
	}
}

// All reads the rest of the answer.
func (r *Reader) All() ([]byte, error) {
	for {
		if err := r.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return r.buf[r.lo:r.hi], err
		}
	}
}

// line reads a line, which is valid until the next read. A last line needs no line end.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.lo < r.hi {
			if r.skipLF = false; r.buf[r.lo] == '\n' {
				r.lo++
			}
		}
		rest := r.buf[r.lo:r.hi]
		if end := lineEnd(rest, r.seen); end >= 0 {
			r.lo += end + 1
			r.seen = 0
			r.skipLF = rest[end] == '\r'
			return rest[:end], nil
		}
		r.seen = len(rest)
		if err := r.fill(); err != nil {
			if rest = r.buf[r.lo:r.hi]; errors.Is(err, io.EOF) && len(rest) > 0 {
				r.lo, r.seen = r.hi, 0
				return rest, nil
			}
			return nil, err
		}
	}
}

// lineEnd returns the position of the first LF or CR from from on, or -1.
func lineEnd(b []byte, from int) int {
	b = b[from:]
	end := bytes.IndexByte(b, '\n')
	before := b
	if end >= 0 {
		before = b[:end]
	}
	if cr := bytes.IndexByte(before, '\r'); cr >= 0 {
		end = cr
	}
	if end < 0 {
		return -1
	}
	return from + end
}

// Next reads the next event that has data. Name and data are valid until the next read.
func (r *Reader) Next() (name, data []byte, err error) {
	r.name, r.data = r.name[:0], r.data[:0]
	has := false
	for {
		line, err := r.line()
		if errors.Is(err, io.EOF) && has {
			r.cutOff = true
			return r.name, r.data, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if len(line) == 0 {
			if has {
				return r.name, r.data, nil
			}
			r.name = r.name[:0]
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if has {
				r.data = append(r.data, '\n')
			}
			r.data = append(r.data, value...)
			has = true
		case "event":
			r.name = append(r.name[:0], value...)
		}
	}
}

// Sniffed is the number of bytes needed to distinguish an event stream from JSON: the length of the
// longest field in looksLikeEvents.
const Sniffed = len("event:")

// looksLikeEvents reports whether an answer with this beginning is an event stream.
func looksLikeEvents(start []byte) bool {
	for _, prefix := range [...]string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(start, []byte(prefix)) {
			return true
		}
	}
	return false
}
