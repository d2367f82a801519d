package completetask

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/internal/search"
)

// planSearch checks the Config's Search.
func (s *settings) planSearch() (err error) {
	s.Plan, err = search.Compile(s.Search, "completetask", s.Tools)
	if s.ToolFormat == llmclient.ToolsText { // nobody would describe the search to the model
		s.Plan = nil
	}
	if s.Schema != nil && s.Plan.Name() == FinalTool {
		return errors.Join(err, fmt.Errorf("completetask: Search: the Name %q is that of the tool for the answer", FinalTool))
	}
	return err
}

// startSearch decides which of the tools are offered at first.
func (s *completeTask) startSearch() {
	o := search.Options{}
	if s.ToolChoice.Name != "" {
		o.Always = []string{s.ToolChoice.Name}
	}
	for i := range s.Handoffs {
		o.Always = append(o.Always, s.Handoffs[i].tool())
	}
	s.StartSearch(o)
}

// act runs the calls of a reply. Searches are not run: the strategy answers them, when the other
// calls are answered too.
func (s *completeTask) act(calls []messages.ToolCall) nextstep.NextStep {
	if rest := s.Search.Rest(calls); len(rest) > 0 {
		return s.Then(called, nextstep.ExecuteTools{Calls: rest})
	}
	s.History = frame.Results(s.History, s.Search.Answers(calls))
	return s.goOn(searched, lastSearch)
}
