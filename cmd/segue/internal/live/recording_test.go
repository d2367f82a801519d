package live

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
)

// version is the version of recordings.
const version = 1

// recording is a file of JSON lines: a head, and a line for each request that was answered, sorted
// by key.
type recording struct {
	file    string
	key     string // no file holds it
	variant string // of the variants that are tried, a regular expression; "": all
	replies map[string]reply
	used    map[string]bool
}

type head struct {
	V       int    `json:"v"`
	Model   string `json:"model"`
	Variant string `json:"variant,omitempty"`
}

// reply is the reply to one request.
type reply struct {
	Key    string            `json:"key"`              // see keyOf
	Status int               `json:"status,omitempty"` // if it is not 200
	Body   json.RawMessage   `json:"body,omitempty"`
	Events []json.RawMessage `json:"events,omitempty"` // of a stream; a string is an event that only adds to the text
}

// keyOf returns the key of a request: the beginning of the SHA-256 of its JSON without blanks, with
// its own names sorted.
func keyOf(request map[string]json.RawMessage) (string, error) {
	data, err := json.Marshal(request)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), err
}

// read reads a recording. A file that does not exist is an empty recording.
func (r *recording) read() (model string, err error) {
	r.replies, r.used = map[string]reply{}, map[string]bool{}
	data, err := os.ReadFile(r.file)
	if os.IsNotExist(err) {
		return "", nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var h head
	if err == nil {
		err = d.Decode(&h)
	}
	if err == nil && h.V != version {
		err = fmt.Errorf("version %d is not known; this is version %d", h.V, version)
	}
	for err == nil && d.More() {
		var one reply
		err = d.Decode(&one)
		r.replies[one.Key] = one
	}
	if err != nil {
		return "", fmt.Errorf("live: %s: %w; record anew with make live", r.file, err)
	}
	r.variant = h.Variant
	return h.Model, nil
}

// write writes the replies, or only those that were used. A reply that holds the key of the server
// is an error, and nothing is written.
func (r *recording) write(model string, onlyUsed bool) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(head{version, model, r.variant})
	for _, key := range slices.Sorted(maps.Keys(r.replies)) {
		if err == nil && (r.used[key] || !onlyUsed) {
			err = e.Encode(r.replies[key])
		}
	}
	switch {
	case err != nil:
		return err
	case r.holdsKey(b.Bytes()):
		return errors.New("live: the recording is not written: it holds the key; where the server wants none, choose one that is no word of a conversation")
	}
	return os.WriteFile(r.file, b.Bytes(), 0o644)
}

func (r *recording) holdsKey(text []byte) bool {
	return r.key != "" && bytes.Contains(text, []byte(r.key))
}

// add adds a reply to the file at once, so that nothing is lost if the suite is broken off.
func (r *recording) add(one reply) error {
	line, err := marshal(one)
	if err != nil || r.holdsKey(line) {
		return err // write refuses it at the end
	}
	f, err := os.OpenFile(r.file, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// take returns the reply with a key.
func (r *recording) take(key string) (reply, bool) {
	one, ok := r.replies[key]
	if ok {
		r.used[key] = true
	}
	return one, ok
}

// unused returns how many replies were never taken.
func (r *recording) unused() int { return len(r.replies) - len(r.used) }

// newReply returns what a server answered, without what differs each time: ids of replies, times,
// and what was cached.
func newReply(key string, status int, answer []byte) (reply, error) {
	one := reply{Key: key}
	if status != http.StatusOK {
		one.Status = status
	}
	if !bytes.HasPrefix(answer, []byte("data:")) {
		body, _, err := plain(answer)
		one.Body = body
		return one, err
	}
	for line := range strings.Lines(string(answer)) {
		data, isData := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if data = strings.TrimSpace(data); !isData || data == "[DONE]" {
			continue
		}
		body, text, err := plain([]byte(data))
		if err != nil {
			return one, err
		}
		if text != "" {
			body, err = marshal(text)
			if err != nil {
				return one, err
			}
		}
		one.Events = append(one.Events, body)
	}
	return one, nil
}

// plain returns the JSON of an answer without what differs each time, and its text if it is an
// event that has nothing else.
func plain(answer []byte) (body json.RawMessage, text string, err error) {
	var v map[string]any
	if err := json.Unmarshal(answer, &v); err != nil {
		return nil, "", fmt.Errorf("live: the server answers with what is no JSON: %.80q: %w", answer, err)
	}
	for _, name := range []string{"id", "created", "object", "model", "system_fingerprint", "timings"} {
		delete(v, name)
	}
	if usage, ok := v["usage"].(map[string]any); ok {
		delete(usage, "prompt_tokens_details")
	}
	text = textOf(v)
	body, err = marshal(v)
	return body, text, err
}

func textOf(event map[string]any) string {
	choices, _ := event["choices"].([]any)
	if len(choices) != 1 {
		return ""
	}
	choice, _ := choices[0].(map[string]any)
	delta, _ := choice["delta"].(map[string]any)
	text, _ := delta["content"].(string)
	bare := maps.Clone(choice)
	maps.DeleteFunc(bare, func(_ string, v any) bool { return v == nil })
	if !reflect.DeepEqual(map[string]any{"choices": []any{bare}}, textEvent(text)) || len(event) != 1 {
		return ""
	}
	return text
}

func textEvent(text string) map[string]any {
	return map[string]any{"choices": []any{map[string]any{"index": 0.0, "delta": map[string]any{"content": text}}}}
}

func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// send sends a reply as the server did.
func (one reply) send(w http.ResponseWriter) error {
	if one.Events == nil {
		w.Header().Set("Content-Type", "application/json")
		if one.Status != 0 {
			w.WriteHeader(one.Status)
		}
		_, err := w.Write(one.Body)
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range one.Events {
		var text string
		if json.Unmarshal(event, &text) == nil {
			var err error
			if event, err = marshal(textEvent(text)); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", event); err != nil {
			return err
		}
		w.(http.Flusher).Flush()
	}
	_, err := fmt.Fprint(w, "data: [DONE]\n\n")
	return err
}
