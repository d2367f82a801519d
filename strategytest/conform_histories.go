package strategytest

import (
	"bytes"
	"fmt"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// requestHistories are the histories of a strategy's requests, with the original JSON forms of
// their messages.
type requestHistories []request

type request struct {
	messages messages.History
	forms    [][]byte
}

// add records the history of a step that is a request.
func (h *requestHistories) add(step nextstep.NextStep) {
	ask, ok := step.(nextstep.GetChatCompletion)
	if !ok {
		return
	}
	r := request{messages: ask.Request.Messages}
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
