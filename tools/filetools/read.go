package filetools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

type readArgs struct {
	Path string `json:"path" jsonschema:"the file"`
	From int    `json:"from_line,omitempty" jsonschema:"the first line to read, from 1; the first if left out"`
	To   int    `json:"to_line,omitempty" jsonschema:"the last line to read; the last if left out"`
}

func (f *folder) read(ctx context.Context, in readArgs) (string, error) {
	if in.From < 0 || in.To < 0 || in.To > 0 && in.To < in.From {
		return "", fmt.Errorf("filetools: there are no lines %d to %d", in.From, in.To)
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
	line := 1 // the line of the next piece
	for {
		piece, err := r.ReadSlice('\n')
		if line >= in.From && (in.To == 0 || line <= in.To) {
			if room := f.cfg.MaxRead - out.Len(); len(piece) > room {
				out.Write(piece[:room])
				return text(out.String()) + fmt.Sprintf("\n[cut in line %d: give from_line to read on]", line), nil
			}
			out.Write(piece)
		}
		switch {
		case err == nil:
			line++
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if len(piece) == 0 {
				line--
			}
			if line < in.From {
				return fmt.Sprintf("[the file has only %d lines]", line), nil
			}
			return text(out.String()), nil
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

func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
