package scripted

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Reply is one reply of a script: thought, text and calls, in this order, or an error. The zero
// Reply is an empty message.
type Reply struct {
	For     string                 // only for requests with this Model, or whose last user message contains this; "" for any
	Text    string                 // default: Deltas joined
	Thought string                 // streamed as one delta before the text
	Calls   []messages.ToolCall    // one without an ID gets call_<number of the reply>_<number of the call>
	Deltas  []string               // the pieces in which Text is streamed; default: one piece
	Finish  llmclient.FinishReason // default: tool_calls if there are any, else stop
	Usage   messages.Usage         // default: zero
	Delay   time.Duration          // the wait before the reply begins
	Times   int                    // how often the reply may be used; 0: once; negative: any number of times, or never

	// Err is returned after the rest of the reply was streamed. If it is an *llmclient.Error, its
	// Partial is set to what was streamed, and its Usage to Usage unless it has its own.
	Err error

	// Func makes the reply from the request. Then only For, Times and Delay of this Reply are used,
	// and For, Times and Func of the returned one are ignored. It must be safe for concurrent use.
	Func func(*llmclient.Request) Reply
}

// Text returns a reply with one text.
func Text(text string) Reply { return Reply{Text: text} }

// Stream returns a reply with one text that is streamed in pieces.
func Stream(pieces ...string) Reply { return Reply{Deltas: pieces} }

// Calls returns a reply that calls tools.
func Calls(calls ...messages.ToolCall) Reply { return Reply{Calls: calls} }

// Call returns a call for [Calls]. An empty id is replaced by a generated one.
func Call(name, arguments, id string) messages.ToolCall {
	return messages.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// Error returns a reply that fails.
func Error(err error) Reply { return Reply{Err: err} }

// Func returns a reply that is computed from the request.
func Func(f func(*llmclient.Request) Reply) Reply { return Reply{Func: f} }

// check returns an error if the reply is invalid in itself.
func (r Reply) check() error {
	if r.Text != "" && r.Deltas != nil && strings.Join(r.Deltas, "") != r.Text {
		return fmt.Errorf("its deltas join to %q, but its text is %q", textcut.Short(strings.Join(r.Deltas, ""), maxShown), textcut.Short(r.Text, maxShown))
	}
	for i, call := range r.Calls {
		if call.Name == "" {
			return fmt.Errorf("its call %d has no name", i+1)
		}
	}
	return nil
}

// A turn is a reply that is ready for use.
type turn struct {
	Reply
	number int // from 1
	left   int // negative means any number
	deltas []llmclient.Delta
	resp   *llmclient.Response
	err    error
}

func prepare(number int, r Reply) *turn {
	t := &turn{Reply: r, number: number, left: r.Times}
	if t.left == 0 {
		t.left = 1
	}
	if err := r.check(); err != nil {
		t.err = &llmclient.Error{Code: llmclient.CodeBadRequest, Message: fmt.Sprintf("scripted: reply %d is not usable: %v", number, err)}
		return t
	}
	t.deltas = r.stream()
	t.resp = &llmclient.Response{
		Message: messages.Assistant{Content: r.content(number)},
		Finish:  r.Finish,
		Usage:   r.Usage,
		Model:   "scripted",
		ID:      fmt.Sprintf("reply_%d", number),
	}
	switch {
	case r.Finish != "":
	case len(r.Calls) > 0:
		t.resp.Finish = llmclient.FinishToolCalls
	default:
		t.resp.Finish = llmclient.FinishStop
	}
	t.err = r.failure()
	return t
}

// stream returns the pieces in which the reply is streamed.
func (r Reply) stream() []llmclient.Delta {
	pieces := r.Deltas
	if pieces == nil && r.Text != "" {
		pieces = []string{r.Text}
	}
	deltas := make([]llmclient.Delta, 0, len(pieces)+1)
	if r.Thought != "" {
		deltas = append(deltas, llmclient.Delta{Kind: llmclient.DeltaThought, Text: r.Thought})
	}
	for _, p := range pieces {
		deltas = append(deltas, llmclient.Delta{Kind: llmclient.DeltaText, Text: p})
	}
	return deltas
}

func (r Reply) content(number int) []messages.AssistantContent {
	content := parts(r.stream())
	for i, call := range r.Calls {
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d_%d", number, i+1)
		}
		content = append(content, call)
	}
	return content
}

// failure returns Err with the rest of the reply.
func (r Reply) failure() error {
	e, ok := r.Err.(*llmclient.Error) //nolint:errorlint // an error that wraps one is returned unchanged
	if !ok {
		return r.Err
	}
	own := *e
	if own.Partial.Content == nil {
		own.Partial.Content = parts(r.stream())
	}
	if own.Usage == (messages.Usage{}) {
		own.Usage = r.Usage
	}
	return &own
}

// parts returns deltas as the parts of a message; nil if they hold nothing.
func parts(deltas []llmclient.Delta) []messages.AssistantContent {
	var thought, text strings.Builder
	for _, d := range deltas {
		if d.Kind == llmclient.DeltaThought {
			thought.WriteString(d.Text)
		} else {
			text.WriteString(d.Text)
		}
	}
	var content []messages.AssistantContent
	if thought.Len() > 0 {
		content = append(content, messages.Thought{Text: thought.String()})
	}
	if text.Len() > 0 {
		content = append(content, messages.Text{Text: text.String()})
	}
	return content
}

// matches reports whether the reply is for req.
func (r *Reply) matches(req *llmclient.Request) bool {
	return r.For == "" || r.For == req.Model || strings.Contains(lastUserText(req.Messages), r.For)
}

func lastUserText(h messages.History) string {
	for _, m := range slices.Backward(h) {
		if u, ok := m.(messages.User); ok {
			return u.Text()
		}
	}
	return ""
}
