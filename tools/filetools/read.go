package filetools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

type readArgs struct {
	Path string `json:"path" jsonschema:"the file"`
	From int    `json:"from_line,omitempty" jsonschema:"the first line to read, from 1; the first if left out"`
	To   int    `json:"to_line,omitempty" jsonschema:"the last line to read; the last if left out"`
	Skip int    `json:"from_byte,omitempty" jsonschema:"the bytes of the first line to leave out, to read on in a line that was cut"`
}

func (f *folder) read(ctx context.Context, in readArgs) (string, error) {
	if in.From < 0 || in.To < 0 || in.To > 0 && in.To < in.From {
		return "", fmt.Errorf("filetools: there are no lines %d to %d", in.From, in.To)
	}
	if in.Skip < 0 {
		return "", fmt.Errorf("filetools: from_byte is %d: give 0 or more", in.Skip)
	}
	file, size, err := f.open(in.Path, regularFile)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	r := bufio.NewReaderSize(file, 32<<10)
	if head, _ := r.Peek(sniffed); isBinary(head) {
		return fmt.Sprintf("[a binary file of %d bytes: not shown]", size), nil
	}
	if size == 0 {
		return "[the file is empty]", nil
	}
	return f.readLines(ctx, in, r)
}

// sniffed is the number of bytes that are examined to decide whether a file is text.
const sniffed = 8 << 10

func isBinary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

func (f *folder) readLines(ctx context.Context, in readArgs, r *bufio.Reader) (string, error) {
	var out strings.Builder
	line, at, skip := 1, 0, in.Skip // the next piece begins after the first at bytes of the line
	for {
		piece, err := r.ReadSlice('\n')
		if line >= in.From && (in.To == 0 || line <= in.To) {
			n := min(skip, len(piece))
			skip -= n
			if room := f.cfg.MaxRead - out.Len(); len(piece)-n > room {
				end := n + room
				for end > n && !utf8.RuneStart(piece[end]) {
					end--
				}
				out.Write(piece[n:end])
				return text(out.String()) + cutNotice(line, at+end), nil
			}
			out.Write(piece[n:])
		}
		switch {
		case err == nil && skip > 0 && line >= in.From:
			return fmt.Sprintf("[line %d has only %d bytes]", line, at+len(piece)), nil
		case err == nil:
			line, at = line+1, 0
		case errors.Is(err, bufio.ErrBufferFull):
			at += len(piece)
		case errors.Is(err, io.EOF):
			return endOfFile(in, line, at+len(piece), skip, out.String()), nil
		default:
			return "", explain(in.Path, err)
		}
		if in.To > 0 && line > in.To {
			return text(out.String()), nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}

// cutNotice says how to read on after so many bytes of a line.
func cutNotice(line, read int) string {
	if read == 0 {
		return fmt.Sprintf("\n[cut before line %d: read on with from_line %d]", line, line)
	}
	return fmt.Sprintf("\n[cut in line %d: read on with from_line %d and from_byte %d]", line, line, read)
}

// endOfFile returns what was read when the file ends in a line of so many bytes.
func endOfFile(in readArgs, line, length, skip int, read string) string {
	if length == 0 {
		line--
	}
	switch {
	case line < in.From:
		return fmt.Sprintf("[the file has only %d lines]", line)
	case skip > 0:
		return fmt.Sprintf("[line %d has only %d bytes]", line, length)
	default:
		return text(read)
	}
}

func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
