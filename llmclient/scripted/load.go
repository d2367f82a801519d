package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Load reads the replies of a script from a JSON array; the package comment describes the format.
// The error says which reply is wrong.
func Load(r io.Reader) ([]Reply, error) {
	d := json.NewDecoder(r)
	var items []json.RawMessage
	if err := d.Decode(&items); err != nil {
		return nil, fmt.Errorf("scripted: a script is a JSON array of replies: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("scripted: there is text after the array of replies")
	}
	replies := make([]Reply, len(items))
	for i, item := range items {
		var f replyFile
		err := strict(item, &f)
		if err == nil {
			replies[i], err = f.reply()
		}
		if err == nil {
			err = replies[i].check()
		}
		if err != nil {
			return nil, fmt.Errorf("scripted: reply %d: %w", i+1, err)
		}
	}
	return replies, nil
}

// The JSON form of a reply.
type (
	replyFile struct {
		For     string                 `json:"for"`
		Text    string                 `json:"text"`
		Thought string                 `json:"thought"`
		Deltas  []string               `json:"deltas"`
		Calls   []callFile             `json:"calls"`
		Finish  llmclient.FinishReason `json:"finish"`
		Usage   messages.Usage         `json:"usage"`
		Delay   duration               `json:"delay"`
		Times   int                    `json:"times"`
		Error   *errorFile             `json:"error"`
	}
	callFile struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	errorFile struct {
		Code       llmclient.Code `json:"code"`
		Status     int            `json:"status"`
		Type       string         `json:"type"`
		Message    string         `json:"message"`
		RequestID  string         `json:"request_id"`
		RetryAfter duration       `json:"retry_after"`
		Generated  string         `json:"generated"`
	}
	duration time.Duration
)

// UnmarshalText reads a duration such as "1.5s".
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}

func (f replyFile) reply() (Reply, error) {
	r := Reply{
		For: f.For, Text: f.Text, Thought: f.Thought, Deltas: f.Deltas, Finish: f.Finish, Usage: f.Usage, Delay: time.Duration(f.Delay), Times: f.Times,
	}
	for _, c := range f.Calls {
		r.Calls = append(r.Calls, messages.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.arguments()})
	}
	if f.Error == nil {
		return r, nil
	}
	if f.Error.Code == "" {
		return r, errors.New("its error has no code")
	}
	r.Err = &llmclient.Error{
		Code: f.Error.Code, Status: f.Error.Status, Type: f.Error.Type, Message: f.Error.Message, RequestID: f.Error.RequestID,
		RetryAfter: time.Duration(f.Error.RetryAfter), Generated: f.Error.Generated,
	}
	return r, nil
}

// arguments returns what the model wrote: the text of a string, or any other value without blanks.
func (c callFile) arguments() string {
	var text string
	if len(c.Arguments) == 0 || json.Unmarshal(c.Arguments, &text) == nil {
		return text
	}
	var b bytes.Buffer
	_ = json.Compact(&b, c.Arguments) // valid: the decoder has found its end
	return b.String()
}

// strict reads one JSON object without unknown fields.
func strict(data []byte, v any) error {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Errorf("%s is not an object", textcut.Short(string(data), maxShown))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
