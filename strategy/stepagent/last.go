package stepagent

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/tools"
)

// lastRequest is what a request must begin with to extend the last one, except for the
// conversation, which only grows.
type lastRequest struct {
	Own    bool               `json:"own,omitempty"`   // it had messages beside the conversation
	Tools  []tools.Definition `json:"tools,omitempty"` // that it offered natively
	Schema *llmclient.Schema  `json:"schema,omitempty"`
}

// anewMessages says why a request does not extend the last one.
var anewMessages = new("one of both requests has messages of its own beside the conversation")

// anew returns why the request does not extend the last one, or nil, and takes it as the last one.
// A request without messages is about to have the conversation. Other messages are not compared
// with those of the last request, which are not kept.
func (s *stepAgent) anew(request *llmclient.Request) *string {
	last := s.last
	s.last = &lastRequest{Own: len(request.Messages) > 0, Tools: request.Tools, Schema: request.Schema}
	if request.ToolFormat == llmclient.ToolsText {
		s.last.Tools = nil
	}
	if last == nil {
		return nil
	}
	if last.Own || s.last.Own {
		return anewMessages
	}
	now := llmclient.Request{Tools: s.last.Tools, Schema: s.last.Schema}
	if why := now.Departure(&llmclient.Request{Tools: last.Tools, Schema: last.Schema}); why != "" {
		return &why
	}
	return nil
}
