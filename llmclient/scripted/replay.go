package scripted

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/segue-go/segue/llmclient"
)

// Replayer is a client that answers from a cassette.
type Replayer struct {
	mu    sync.Mutex
	tape  []*recording
	byKey map[string][]*recording // in the order of the cassette
}

// A recording is one call of a cassette.
type recording struct {
	number  int // from 1
	used    bool
	request []byte
	deltas  []llmclient.Delta
	resp    *llmclient.Response
	err     error
}

// Replay reads a cassette, and returns a client that answers each request with what was recorded
// for its key: response, deltas or error. Several recordings with the same key are given once each,
// in the order of the cassette. If there is no recording, or all were used, the request fails with
// [llmclient.CodeBadRequest] and a text that shows how it differs from the most similar one.
//
// Errors keep their types; only the text of their cause is kept. A reply that was recorded without
// streaming is streamed, if requested, as one delta for its thoughts and one for its text.
func Replay(r io.Reader) (*Replayer, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("scripted: cassette: %w", err)
	}
	p := &Replayer{byKey: map[string][]*recording{}}
	number := 0
	for text := range bytes.Lines(data) {
		if number++; len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		e, err := readEntry(bytes.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("scripted: cassette line %d: %w", number, err)
		}
		rec := e.recording(len(p.tape) + 1)
		p.tape = append(p.tape, rec)
		p.byKey[e.Key] = append(p.byKey[e.Key], rec)
	}
	return p, nil
}

func (e *entry) recording(number int) *recording {
	rec := &recording{number: number, request: e.Request, resp: e.Response}
	if e.Error != nil {
		rec.err = e.Error.restore()
	}
	for _, d := range e.Deltas {
		kind := llmclient.DeltaText
		if d.Kind == kindThought {
			kind = llmclient.DeltaThought
		}
		rec.deltas = append(rec.deltas, llmclient.Delta{Kind: kind, Text: d.Text})
	}
	if e.Deltas == nil && e.Response != nil {
		rec.deltas = Reply{Thought: e.Response.Message.Thought(), Text: e.Response.Message.Text()}.stream()
	}
	return rec
}

// Complete answers from the cassette.
func (p *Replayer) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	if ctx.Err() != nil {
		return nil, canceled(ctx, req.Model, nil)
	}
	request, key, err := canonical(req)
	if err != nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadRequest, Model: req.Model, Message: "scripted: the request cannot be looked up: " + err.Error(), Err: err}
	}
	rec := p.next(key)
	if rec == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadRequest, Type: "replay_miss", Model: req.Model, Err: p.miss(key, request)}
	}
	if err := stream(ctx, req.Model, rec.deltas, llmclient.Watch(ctx, onDelta)); err != nil {
		return nil, err
	}
	return rec.resp, rec.err
}

func (p *Replayer) next(key string) *recording {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rec := range p.byKey[key] {
		if !rec.used {
			rec.used = true
			return rec
		}
	}
	return nil
}

// Remaining returns how many recordings have not been used.
func (p *Replayer) Remaining() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, rec := range p.tape {
		if !rec.used {
			n++
		}
	}
	return n
}

// AssertComplete fails the test if recordings are left over, and lists them.
func (p *Replayer) AssertComplete(t TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var left []string
	for _, rec := range p.tape {
		if !rec.used {
			left = append(left, fmt.Sprint(rec.number))
		}
	}
	if len(left) > 0 {
		t.Errorf("scripted: %d of %d recordings of the cassette were not used: %s", len(left), len(p.tape), strings.Join(left, ", "))
	}
}
