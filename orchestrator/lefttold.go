package orchestrator

import (
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// leftID begins the ids of calls that were read in the text of a reply.
const leftID = "text_call_"

// What a model whose calls are left in the text is told after results. It makes the calls of a task
// again otherwise, or takes an error for the end.
const (
	tellNext  = "\n\n(If a step of the task is left, call the tool for it. If none is left, say the answer in a sentence.)"
	tellWrong = "\nCorrect the arguments and try again."
)

// told returns the request with a word after results of calls that were read in the text: after
// an error that other arguments may mend, and after the last result of each reply but the first.
// What was told once is told in all later requests.
func told(req *llmclient.Request) *llmclient.Request {
	var own messages.History
	replies := 0
	for i, m := range req.Messages {
		m, ok := m.(messages.Tool)
		if !ok || !strings.HasPrefix(m.CallID, leftID) {
			continue
		}
		if req.Messages[i-1].Role() != messages.RoleTool {
			replies++
		}
		last := i+1 == len(req.Messages) || req.Messages[i+1].Role() != messages.RoleTool
		word := ""
		switch {
		case m.Status == messages.StatusFailed && (m.Reason == tools.ReasonError || m.Reason == tools.ReasonArguments):
			word = tellWrong
		case last && replies > 1 && m.OK() && m.Reason == "":
			word = tellNext
		default:
			continue
		}
		if own == nil {
			own = append(own, req.Messages...)
		}
		m.Output, m.Untrusted = m.ForModel()+word, false // ForModel has marked it
		own[i] = m
	}
	if own == nil {
		return req
	}
	r := *req
	r.Messages = own
	return &r
}
