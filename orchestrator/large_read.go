package orchestrator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/tools"
)

// ReadResultTool is the name of the tool that reads results which are kept; see [LargeResults].
const ReadResultTool = tools.ReadResultName

var (
	// ErrNotKept is wrapped by the error of [ReadResultTool] for an id of no result that the run
	// keeps. Those of other runs are such ids.
	ErrNotKept = errors.New("the run has kept no result of this id: take the id from the result, as it stands there")

	// ErrGone is wrapped by the error of [ReadResultTool] for a result that was kept in memory by a
	// process which no longer works on the run, or that the run before in the session has kept.
	ErrGone = errors.New("the result was kept, and is not there any more: if it is needed, make the call again whose result it was")

	// ErrBeyond is wrapped by the error of [ReadResultTool] for an offset beyond the end.
	ErrBeyond = errors.New("the offset is beyond the end of the result")
)

// ReadResultError says why a result that is kept cannot be read. It wraps [ErrNotKept], [ErrGone]
// or [ErrBeyond], or the error of the store.
type ReadResultError struct {
	Run  string
	ID   string
	Size int64 // of the result, if it is there
	Err  error
}

// Error names the result, and how long it is. It does not quote an error of the store.
func (e *ReadResultError) Error() string {
	text := fmt.Sprintf("orchestrator: result %.64q: ", e.ID)
	switch {
	case errors.Is(e.Err, ErrBeyond):
		return text + fmt.Sprintf("%v, which has %d bytes", e.Err, e.Size)
	case errors.Is(e.Err, ErrNotKept), errors.Is(e.Err, ErrGone):
		return text + e.Err.Error()
	default:
		return text + "it cannot be read now"
	}
}

// Unwrap returns the cause.
func (e *ReadResultError) Unwrap() error { return e.Err }

const (
	mostFound  = 20        // places of a text that are told at once
	mostFind   = 1000      // bytes of a text that is looked for
	findWindow = 256 << 10 // bytes that are looked at in one piece
	before     = 80        // bytes of the line that are shown before a place
	behind     = 120       // and behind it
)

// readResultArguments are the arguments of the tool.
type readResultArguments struct {
	ID     string `json:"id" jsonschema:"the id of the result, as the result says it"`
	Offset int64  `json:"offset,omitempty" jsonschema:"the byte at which to begin; 0 is the first"`
	Length int    `json:"length,omitempty" jsonschema:"how many bytes to read"`
	Find   string `json:"find,omitempty" jsonschema:"a text: instead of reading, list the places from offset on where it stands, with the lines around them"`
}

// newReadResult returns the tool. It reads show bytes unless it is told otherwise, and at most four
// times as many.
func newReadResult(show int) tools.Tool {
	def := tools.Definition{
		Name: ReadResultTool, ReadOnly: true, MaxResult: 4*show + mostFound*(before+behind+mostFind+64),
		Description: fmt.Sprintf("Reads a part of a result that was too large to be shown, or finds a text in it. It reads %d bytes unless length says otherwise, and %d at most.", show, 4*show),
	}
	return tools.New(def, func(ctx context.Context, in readResultArguments) (string, error) {
		x := executionOf(ctx)
		if x == nil {
			return "", errors.New("orchestrator: the tool " + ReadResultTool + " works only in a run of the orchestrator")
		}
		if in.Length <= 0 {
			in.Length = show
		}
		in.Length = min(in.Length, 4*show)
		v, err := x.run.openKept(ctx, in.ID)
		if err != nil {
			return "", err
		}
		if v.untrusted {
			x.readUntrusted.Store(true)
		}
		if in.Offset = max(in.Offset, 0); in.Offset >= v.size {
			return "", v.fails(ErrBeyond)
		}
		if in.Find != "" {
			return v.find(ctx, in.Find, in.Offset)
		}
		return v.read(ctx, in.Offset, in.Length)
	})
}

// keptText is a result that is kept, and is being read.
type keptText struct {
	run       *run
	id        string
	size      int64
	untrusted bool
}

func (v *keptText) fails(err error) error {
	return &ReadResultError{Run: v.run.id, ID: v.id, Size: v.size, Err: err}
}

// openKept finds a result that the run keeps.
func (r *run) openKept(ctx context.Context, id string) (*keptText, error) {
	v := &keptText{run: r, id: id}
	r.large.mu.Lock()
	untrusted, known := r.large.untrusted[id]
	r.large.mu.Unlock()
	v.untrusted = untrusted || !known // nobody knows where it came from if no record says so
	if checkpoint.CheckValue(id) == nil {
		store, key := r.keeps()
		_, size, err := store.ReadValue(ctx, key, id, 0, 0)
		if v.size = size; err == nil {
			return v, nil
		}
		if !errors.Is(err, checkpoint.ErrNotFound) {
			_, said := readError(err)
			return nil, v.fails(said)
		}
	}
	if known {
		return nil, v.fails(ErrGone)
	}
	return nil, v.fails(ErrNotKept)
}

// part returns the bytes of the result from one place to before another.
func (v *keptText) part(ctx context.Context, from, to int64) ([]byte, error) {
	from, to = max(from, 0), min(to, v.size)
	store, key := v.run.keeps()
	data, _, err := store.ReadValue(ctx, key, v.id, from, int(to-from))
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, v.fails(ErrGone)
	}
	if err != nil {
		_, said := readError(err)
		return nil, v.fails(said)
	}
	return data, nil
}

// read returns a part of the result, and where it stands. It cuts no rune.
func (v *keptText) read(ctx context.Context, offset int64, length int) (string, error) {
	const more = utf8.UTFMax - 1
	data, err := v.part(ctx, offset, offset+int64(length)+more)
	if err != nil {
		return "", err
	}
	first := textcut.After(string(data[:min(len(data), more)]), 0)
	end := textcut.After(string(data), min(len(data), max(length, first+1)))
	text := string(data[first:end])
	from, to := offset+int64(first), offset+int64(end)
	last := "[this is its end]"
	if to < v.size {
		last = fmt.Sprintf("[it goes on at offset %d]", to)
	}
	return fmt.Sprintf("[bytes %d to %d of %d]\n%s\n%s", from, to, v.size, text, last), nil
}

// find lists the places of a text from an offset on.
func (v *keptText) find(ctx context.Context, find string, offset int64) (string, error) {
	if len(find) > mostFind {
		return "", &tools.ArgumentError{Tool: ReadResultTool, Problems: []tools.Problem{{Message: fmt.Sprintf("find has %d bytes, and may have %d", len(find), mostFind)}}}
	}
	var places strings.Builder
	found := 0
	for at := offset; at < v.size; at += findWindow {
		data, err := v.part(ctx, at-before, at+findWindow+int64(len(find)+behind))
		if err != nil {
			return "", err
		}
		begin := max(0, at-before) // of data
		for i := int(at - begin); ; {
			next := bytes.Index(data[min(i, len(data)):], []byte(find))
			if next < 0 || begin+int64(i+next) >= at+findWindow {
				break
			}
			if i += next; found == mostFound {
				return fmt.Sprintf("[the first %d places from byte %d on, of %d bytes; look on from offset %d]\n%s", found, offset, v.size, begin+int64(i), places.String()), nil
			}
			fmt.Fprintf(&places, "byte %d: %s\n", begin+int64(i), lineAt(data, i, len(find)))
			found++
			i += len(find)
		}
	}
	if found == 0 {
		return fmt.Sprintf("[it does not stand from byte %d on, of %d bytes]", offset, v.size), nil
	}
	return fmt.Sprintf("[%d places from byte %d on, of %d bytes]\n%s", found, offset, v.size, places.String()), nil
}

// lineAt returns a text that was found, with what stands around it in its line.
func lineAt(data []byte, at, length int) string {
	from, to := max(0, at-before), min(len(data), at+length+behind)
	if i := bytes.LastIndexByte(data[from:at], '\n'); i >= 0 {
		from += i + 1
	}
	if i := bytes.IndexByte(data[at+length:to], '\n'); i >= 0 {
		to = at + length + i
	}
	return strings.ToValidUTF8(string(data[from:to]), "")
}
