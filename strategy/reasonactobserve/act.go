package reasonactobserve

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

// act begins the act turn: data sources are consulted first, and without tools there is no act
// turn.
func (s *reasonActObserve) act() nextstep.NextStep {
	s.TellNotes()
	s.before = len(s.History)
	if c := s.consult; c != nil {
		s.consult = nil
		s.Calls = []messages.ToolCall{{ID: "retrieval_1", Name: c.tool.Name, Arguments: c.arguments}}
		s.History = append(s.History, messages.Assistant{Content: []messages.AssistantContent{s.Calls[0]}})
		s.note(c.tool.Name)
		return s.then(consulted, nextstep.ExecuteTools{Calls: s.Calls})
	}
	return s.offer()
}

// retrieved processes what the data sources returned.
func (s *reasonActObserve) retrieved(results []messages.ToolOutput) nextstep.NextStep {
	s.take(results)
	return s.offer()
}

// offer offers the tools.
func (s *reasonActObserve) offer() nextstep.NextStep {
	if len(s.Defs) == 0 {
		return s.then(acted, s.observe())
	}
	switch last := s.History.Last().(type) {
	case messages.Assistant:
		s.say("Act", PromptData{})
		s.before = len(s.History)
	case messages.Tool:
		if last.ToolName == DecideNext { // no request has contained it yet
			last.Output += " " + s.prompt("Act", PromptData{})
			s.History[len(s.History)-1] = last
		}
	}
	return s.then(decided, s.request(s.History, s.Search.Offered()...))
}

// acted processes the reply of the act turn.
func (s *reasonActObserve) acted(reply messages.Assistant) nextstep.NextStep {
	calls, said := reply.Calls(), reply.Text()
	switch {
	case len(calls) == 0 && strings.TrimSpace(said) == "":
		s.record(reply, "") // at most a thought
		return s.then(acted, s.observe())
	case len(calls) == 0:
		s.record(reply, "")
		if frame.CutOff(s.Finish) {
			return s.cutOff(said)
		}
		return s.done(said)
	case frame.CutOff(s.Finish):
		s.record(reply, "CutCall")
		for _, m := range s.History[len(s.History)-len(calls):] {
			s.show(m.(messages.Tool).ToolOutput, calls)
		}
		return s.then(acted, s.observe())
	}
	if !s.RunAll {
		reply, calls = only(reply, calls[0]), calls[:1]
	}
	s.History = append(s.History, reply)
	return s.execute(calls)
}

// only returns a reply with only one of its calls.
func only(reply messages.Assistant, call messages.ToolCall) messages.Assistant {
	reply.Content = slices.DeleteFunc(slices.Clone(reply.Content), func(c messages.AssistantContent) bool {
		other, ok := c.(messages.ToolCall)
		return ok && other.ID != call.ID
	})
	return reply
}

// execute runs the calls that were not repeated too often, and refuses the others. Searches for
// tools are answered and not run.
func (s *reasonActObserve) execute(calls []messages.ToolCall) nextstep.NextStep {
	s.Calls, s.refused = calls, nil
	answers := s.Search.Answers(calls)
	var admitted []messages.ToolCall
	for _, c := range calls {
		if len(answers) > 0 && answers[0].CallID == c.ID {
			s.refused, answers = append(s.refused, answers[0]), answers[1:]
			continue
		}
		key := c.Name + " " + jsonform.Canonical(c.Arguments)
		if n := s.runs[key]; s.MaxRepeats > 0 && n >= s.MaxRepeats && !s.repeatable(c.Name) {
			s.refused = append(s.refused, messages.ToolOutput{
				CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: "repeated",
				Output: s.prompt("Repeated", PromptData{Tool: c.Name, Repeats: n}),
			})
			continue
		}
		s.runs[key]++
		s.note(c.Name)
		admitted = append(admitted, c)
	}
	if len(admitted) == 0 {
		return s.executed(nil)
	}
	return s.then(called, nextstep.ExecuteTools{Calls: admitted})
}

// repeatable reports whether a tool may be called with the same arguments any number of times.
func (s *reasonActObserve) repeatable(tool string) bool {
	return slices.ContainsFunc(s.Defs, func(d tools.Definition) bool { return d.Name == tool && d.Repeatable })
}

// executed processes the results of the calls that ran, and inserts those of the refused calls.
func (s *reasonActObserve) executed(results []messages.ToolOutput) nextstep.NextStep {
	all, refused := make([]messages.ToolOutput, 0, len(s.Calls)), s.refused
	for _, c := range s.Calls {
		switch {
		case len(refused) > 0 && refused[0].CallID == c.ID:
			all, refused = append(all, refused[0]), refused[1:]
		case len(results) > 0:
			all, results = append(all, results[0]), results[1:]
		}
	}
	s.refused = nil
	s.take(all)
	if frame.MustConclude(s.History) != "" {
		return s.next()
	}
	return s.then(acted, s.observe())
}

// take adds results to the conversation, and to those of the step.
func (s *reasonActObserve) take(results []messages.ToolOutput) {
	for _, r := range results {
		s.History = append(s.History, messages.Tool{ToolOutput: r})
		s.show(r, s.Calls)
	}
	s.Calls = nil
}

// show adds the result of one of the calls to those of the step, shortened. The marks around
// untrusted text stay complete.
func (s *reasonActObserve) show(r messages.ToolOutput, calls []messages.ToolCall) {
	arguments := ""
	if i := slices.IndexFunc(calls, func(c messages.ToolCall) bool { return c.ID == r.CallID }); i >= 0 {
		arguments = s.shorten(calls[i].Arguments)
	}
	r.Output = s.shorten(r.Output)
	s.results = append(s.results, PromptResult{Tool: r.ToolName, Arguments: arguments, Text: r.ForModel(), OK: r.OK()})
}

// shorten cuts a text to the configured number of characters, and says so.
func (s *reasonActObserve) shorten(text string) string {
	if s.MaxObserved < 0 || utf8.RuneCountInString(text) <= s.MaxObserved {
		return text
	}
	n := 0
	for i := range text {
		if n == s.MaxObserved {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// note records that a tool was run.
func (s *reasonActObserve) note(tool string) {
	if !slices.Contains(s.used, tool) {
		s.used = append(s.used, tool)
	}
}

// consultation is a call of the tool of Config.Retrieval.
type consultation struct {
	tool      tools.Definition
	arguments string
}

// prepare makes the arguments from the input, and reports whether the input contains enough for a
// call.
func (c *consultation) prepare(goal string, data json.RawMessage) bool {
	var known struct {
		Sources []string `json:"data_sources"`
		User    string   `json:"user"`
	}
	if len(bytes.TrimSpace(data)) == 0 || json.Unmarshal(data, &known) != nil || len(known.Sources) == 0 || known.User == "" {
		return false
	}
	arguments, err := json.Marshal(map[string]any{"query": goal, "data_sources": known.Sources, "user": known.User})
	c.arguments = string(arguments)
	return err == nil
}
