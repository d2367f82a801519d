package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Result implements [wire.Reply]. An error is an error object, a stream that ended too early, or no
// message.
func (a *accumulator) Result() (*llmclient.Response, *llmclient.Error) {
	switch {
	case a.Err != nil:
		return nil, wire.ErrorFromJSON(a.Err)
	case a.stop == "" && !a.wholeWithoutStop():
		return nil, &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the stream ended without a stop reason"}
	case !a.begun:
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "the answer holds no message"}
	}
	finish, cut := a.reason()
	blocks := a.blocks
	if n := len(blocks); cut && n > 0 && blocks[n-1].isWritten() {
		blocks = blocks[:n-1] // nothing tells whether the model had written it to its end
	}
	for _, b := range blocks {
		if _, agree := b.written(); b.kind == blockCall && !agree {
			return nil, wire.Contradiction(b.name)
		}
	}
	if finish == llmclient.FinishRefusal {
		blocks = a.explained(blocks)
	}
	return &llmclient.Response{Message: a.message(blocks), Finish: finish, Usage: a.usage.total()}, nil
}

// wholeWithoutStop reports whether the end of the message, or a whole one, has come, and every
// block has ended. Gateways send the end also where their own provider broke off.
func (a *accumulator) wholeWithoutStop() bool {
	return a.Done && !slices.ContainsFunc(a.blocks, func(b *block) bool { return !b.stopped })
}

// reason maps the stop reason, and says whether the reply was cut. A missing or unknown one is
// derived from the content.
func (a *accumulator) reason() (finish llmclient.FinishReason, cut bool) {
	switch a.stop {
	case "max_tokens", "model_context_window_exceeded":
		return llmclient.FinishLength, true
	case "pause_turn": // a tool of Anthropic's goes on once the reply is sent back
		return llmclient.FinishLength, false
	case "refusal":
		return llmclient.FinishRefusal, true
	}
	if a.calls > 0 || a.stop == "tool_use" { // without a call: see Exchange.WithCall
		return llmclient.FinishToolCalls, false
	}
	return llmclient.FinishStop, false
}

// explained adds the explanation of a refusal to blocks that have no text.
func (a *accumulator) explained(blocks []*block) []*block {
	for _, b := range blocks {
		if b.kind == blockText && b.text.Len() > 0 {
			return blocks
		}
	}
	var details struct{ Explanation string }
	if json.Unmarshal(a.details, &details) != nil || details.Explanation == "" {
		return blocks
	}
	b := &block{kind: blockText, stopped: true}
	a.write(b, []byte(details.Explanation))
	return append(slices.Clip(blocks), b)
}
