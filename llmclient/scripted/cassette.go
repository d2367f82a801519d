package scripted

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// cassetteVersion is the version of cassettes that this package writes and reads.
const cassetteVersion = 1

// The JSON form of a cassette. The package comment describes it.
type (
	entry struct {
		V        int                 `json:"v"`
		Key      string              `json:"key"`
		Request  json.RawMessage     `json:"request"`
		Deltas   []delta             `json:"deltas,omitempty"`
		Response *llmclient.Response `json:"response,omitempty"`
		Error    *failure            `json:"error,omitempty"`
	}
	delta struct {
		Kind string `json:"kind,omitempty"` // "thought"; "" for text
		Text string `json:"text"`
	}
	failure struct {
		Code       llmclient.Code      `json:"code,omitempty"`
		Status     int                 `json:"status,omitempty"`
		Type       string              `json:"type,omitempty"`
		Message    string              `json:"message,omitempty"`
		Model      string              `json:"model,omitempty"`
		RequestID  string              `json:"request_id,omitempty"`
		RetryAfter time.Duration       `json:"retry_after,omitempty"` // in nanoseconds
		Generated  string              `json:"generated,omitempty"`
		Partial    *messages.Assistant `json:"partial,omitempty"`
		Usage      messages.Usage      `json:"usage,omitzero"`
		Attempts   []llmclient.Attempt `json:"attempts,omitempty"`
		Cause      string              `json:"cause,omitempty"`
		Plain      bool                `json:"plain,omitempty"` // not an *llmclient.Error, only a cause
	}
)

const kindThought = "thought"

// canonical returns the relevant part of a request, as JSON with sorted names and no blanks, and
// its key.
func canonical(req *llmclient.Request) (data []byte, key string, err error) {
	view := struct {
		llmclient.Request
		Messages []json.RawMessage  `json:"messages"`
		Tools    []tools.Definition `json:"tools,omitempty"`
	}{Request: *req, Messages: make([]json.RawMessage, len(req.Messages))}
	for i, m := range req.Messages {
		switch seen := m.(type) {
		case messages.Tool:
			seen.Elapsed = 0
			m = seen
		case messages.User: // the marks are for programs
			seen.Pinned, seen.Summary, seen.Untrusted = false, false, false
			m = seen
		}
		if view.Messages[i], err = messages.MarshalMessage(m); err != nil {
			return nil, "", fmt.Errorf("message %d: %w", i, err)
		}
	}
	for _, t := range req.Tools {
		view.Tools = append(view.Tools, tools.Definition{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict, Cache: t.Cache})
	}
	if data, err = json.Marshal(view); err != nil {
		return nil, "", err
	}
	if data, err = sorted(data); err != nil {
		return nil, "", err
	}
	return data, keyOf(data), nil
}

// sorted returns the JSON text data with sorted names and no blanks.
func sorted(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return jsonform.Marshal(v)
}

func keyOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// readEntry reads one line of a cassette.
func readEntry(data []byte) (*entry, error) {
	var version struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	if version.V != cassetteVersion {
		return nil, fmt.Errorf("version %d is not known; this is version %d", version.V, cassetteVersion)
	}
	var e entry
	if err := strict(data, &e); err != nil {
		return nil, err
	}
	if (e.Response == nil) == (e.Error == nil) {
		return nil, errors.New("want either a response or an error")
	}
	for _, d := range e.Deltas {
		if d.Kind != "" && d.Kind != kindThought {
			return nil, fmt.Errorf("delta of unknown kind %q", textcut.Short(d.Kind, maxShown))
		}
	}
	request, err := sorted(e.Request)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if key := keyOf(request); key != e.Key {
		return nil, fmt.Errorf("the key %.16q does not fit the request, whose key is %.16q: was it changed by hand?", e.Key, key)
	}
	e.Request = request
	return &e, nil
}

// newFailure returns err as data.
func newFailure(err error) *failure {
	e, ok := errors.AsType[*llmclient.Error](err)
	if !ok {
		return &failure{Plain: true, Cause: err.Error()}
	}
	f := &failure{
		Code: e.Code, Status: e.Status, Type: e.Type, Message: e.Message, Model: e.Model, RequestID: e.RequestID,
		RetryAfter: e.RetryAfter, Generated: e.Generated, Usage: e.Usage, Attempts: e.Attempts,
	}
	if len(e.Partial.Content) > 0 || len(e.Partial.Extras) > 0 {
		f.Partial = &e.Partial
	}
	if e.Err != nil {
		f.Cause = e.Err.Error()
	}
	return f
}

// restore returns the error that f was made from; only the text of the cause is kept.
func (f *failure) restore() error {
	cause := errors.New(f.Cause)
	if f.Plain {
		return cause
	}
	if f.Cause == "" {
		cause = nil
	}
	e := &llmclient.Error{
		Code: f.Code, Status: f.Status, Type: f.Type, Message: f.Message, Model: f.Model, RequestID: f.RequestID,
		RetryAfter: f.RetryAfter, Generated: f.Generated, Usage: f.Usage, Attempts: f.Attempts, Err: cause,
	}
	if f.Partial != nil {
		e.Partial = *f.Partial
	}
	return e
}
