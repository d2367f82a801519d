package strategytest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// departed says how the last request does not extend the one before, though it declares nothing; ""
// if it does.
func (h requestHistories) departed() string {
	if len(h) < 2 || h[len(h)-1].ask.Anew != nil {
		return ""
	}
	last, now := &h[len(h)-2], &h[len(h)-1]
	why := now.ask.Request.Departure(&last.ask.Request)
	for i, text := range last.forms { // as they were then
		if why == "" && (i >= len(now.forms) || !bytes.Equal(text, now.forms[i])) {
			why = fmt.Sprintf("message %d is another one", i+1)
		}
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("request %d does not begin with the last one, and its Anew is nil: %s\n"+
		"a provider bills such a request in full: extend the last one, or say in Anew why it cannot be", len(h), why)
}

// requestHistories are the histories of a strategy's requests, with the original JSON forms of
// their messages.
type requestHistories []request

type request struct {
	ask      nextstep.GetChatCompletion
	messages messages.History
	forms    [][]byte
}

// add records the history of a step that is a request.
func (h *requestHistories) add(step nextstep.NextStep) {
	ask, ok := step.(nextstep.GetChatCompletion)
	if !ok {
		return
	}
	r := request{ask: ask, messages: ask.Request.Messages}
	r.ask.Request.Tools = slices.Clone(ask.Request.Tools)
	for _, m := range r.messages {
		r.forms = append(r.forms, form(m))
	}
	*h = append(*h, r)
}

// changed describes a message that has changed since it was passed on, or returns "" if there is
// none.
func (h requestHistories) changed() string {
	for number, r := range h {
		for i, m := range r.messages {
			if now := form(m); !bytes.Equal(now, r.forms[i]) {
				return fmt.Sprintf("it changed a step that it had returned: message %d of request %d was\n%s\nand is now\n%s\n"+
					"a history is append-only: to trim or rewrite a conversation, make a new one", i, number+1, r.forms[i], now)
			}
		}
	}
	return ""
}

// form returns the JSON form of a message. A message without one breaks a law that is checked
// elsewhere.
func form(m messages.Message) []byte {
	data, err := messages.AppendMessage(nil, m)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}
