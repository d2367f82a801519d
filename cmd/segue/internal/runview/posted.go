package runview

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// Posted is a message to a run that the run has not taken yet.
type Posted struct {
	Type  string         `json:"type"`            // reply, note or stop; "": it cannot be read
	Reply *machine.Reply `json:"reply,omitempty"` // of a reply
	Text  string         `json:"text,omitempty"`  // of a note; the reason of a stop
}

// posted returns the messages to a run, in the order in which they were posted.
func posted(ctx context.Context, store checkpoint.Store, key checkpoint.Key) ([]Posted, error) {
	box, ok := checkpoint.As[checkpoint.Inbox](store)
	if !ok {
		return nil, nil
	}
	messages, err := box.Posted(ctx, key)
	if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) { // a run does without damaged messages
		return nil, err
	}
	all := make([]Posted, len(messages))
	for i, m := range messages {
		if json.Unmarshal(m.Data, &all[i]) != nil {
			all[i] = Posted{} // a later version has posted it
		}
	}
	return all, nil
}

// ReplyTo returns the first posted reply to a wait, which is the one that counts; nil if there is
// none.
func (v *View) ReplyTo(wait string) *machine.Reply {
	for _, p := range v.Posted {
		if p.Reply != nil && p.Reply.WaitID == wait {
			return p.Reply
		}
	}
	return nil
}

// Stopping reports whether a stop was posted to the run.
func (v *View) Stopping() bool {
	for _, p := range v.Posted {
		if p.Type == "stop" {
			return true
		}
	}
	return false
}
