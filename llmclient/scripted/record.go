package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
)

// Recorder is a client that writes all traffic with another client to a cassette.
type Recorder struct {
	client llmclient.Client
	mu     sync.Mutex
	w      io.Writer
}

// Record returns a client that asks c, and writes each call to w when it ends: as one line, with
// one Write. To add to a cassette, use a file opened for appending.
//
// A call that failed because its context was done is not recorded. If a call cannot be written, it
// fails even if c answered it, so that no recording is incomplete without an error.
func Record(c llmclient.Client, w io.Writer) *Recorder { return &Recorder{client: c, w: w} }

// Unwrap returns the client that is recorded.
func (r *Recorder) Unwrap() llmclient.Client { return r.client }

// Complete asks the client and records the call.
func (r *Recorder) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	if r.client == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeNotFound, Model: req.Model, Message: "scripted: there is no client to record"}
	}
	request, key, err := canonical(req)
	if err != nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadRequest, Model: req.Model, Message: "scripted: the request cannot be recorded: " + err.Error(), Err: err}
	}
	e := &entry{V: cassetteVersion, Key: key, Request: request}
	resp, err := r.client.Complete(ctx, req, e.listen(onDelta))
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if resp == nil && err == nil {
		err = &llmclient.Error{Code: llmclient.CodeBadResponse, Model: req.Model, Message: fmt.Sprintf("client %T returned neither a response nor an error", r.client)}
	}
	e.setOutcome(resp, err)
	if failed := r.write(e); failed != nil {
		return nil, fmt.Errorf("scripted: the call to model %q cannot be recorded: %w", req.Model, failed)
	}
	return resp, err
}

// listen returns an onDelta that also records what was streamed. A nil onDelta stays nil.
func (e *entry) listen(onDelta func(llmclient.Delta)) func(llmclient.Delta) {
	if onDelta == nil {
		return nil
	}
	return func(d llmclient.Delta) {
		recorded := delta{Text: d.Text}
		if d.Kind == llmclient.DeltaThought {
			recorded.Kind = kindThought
		}
		e.Deltas = append(e.Deltas, recorded)
		onDelta(d)
	}
}

// setOutcome records how the call ended.
func (e *entry) setOutcome(resp *llmclient.Response, err error) {
	if err != nil {
		e.Error = newFailure(err)
		return
	}
	own := *resp
	if !json.Valid(own.Raw) {
		own.Raw = nil
	}
	e.Response = &own
}

func (r *Recorder) write(e *entry) error {
	data, err := jsonform.Marshal(e)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.w.Write(append(data, '\n'))
	return err
}
