package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// startTool is the beginning of the names of the tools by which a Parallel starts its parts. No
// request offers them.
const startTool = "run_"

var startDefinition = tools.Definition{
	Description: "Runs a part of a composition.",
	Parameters:  json.RawMessage(`{"type":"object","properties":{"goal":{"type":"string"}},"required":["goal"],"additionalProperties":false}`),
}

// Tools implements strategy.ToolProvider.
func (s *flow) Tools() (list []tools.Tool) {
	for i, p := range s.together {
		start := func(state strategy.State, name string, instead bool) {
			def := startDefinition
			def.Name = startTool + string(state)
			agent := strategy.Agent{Strategy: name, Limits: p.Limits, Tools: p.Tools, Model: p.Model}
			list = append(list, strategy.AgentTool(def, agent, func(string) (delegation.Input, error) { return s.branch(i, instead) }))
		}
		if p.Tool == "" {
			start(p.state, p.Strategy, false)
		}
		if p.instead != "" {
			start(p.instead, p.Fallback, true)
		}
	}
	return list
}

// branch returns the input of a part that is at work, or of its Fallback.
func (s *flow) branch(i int, instead bool) (delegation.Input, error) {
	if i >= len(s.tried) {
		return delegation.Input{}, errors.New("this tool works only in the run of its strategy")
	}
	return s.together[i].input(s.attempt(i, instead))
}

// attempt returns what a part is given that is at work.
func (s *flow) attempt(i int, instead bool) Progress {
	failure := ""
	if err := s.tried[i].Err; err != nil && !instead {
		failure = cut(err.Message)
	}
	return s.progress(s.together[i], failure)
}

// stage starts parts at the same time, by their numbers.
func (s *flow) stage(on strategy.Trigger, numbers []int) nextstep.NextStep {
	s.open = numbers
	var calls []messages.ToolCall
	for _, i := range numbers {
		call, err := s.startCall(i, on == fellBack)
		if err != nil {
			return s.invalid(err)
		}
		calls = append(calls, call)
	}
	return s.execute(on, calls)
}

// startCall returns the call that starts a part, or its Fallback.
func (s *flow) startCall(i int, instead bool) (messages.ToolCall, error) {
	p, state := s.together[i], s.together[i].state
	switch {
	case instead:
		state = p.instead
	case p.Tool != "":
		return p.call(s.attempt(i, false))
	}
	in, err := s.branch(i, instead)
	if err != nil {
		return messages.ToolCall{}, err
	}
	arguments, err := toJSON(goalArguments{in.Goal})
	return messages.ToolCall{ID: "part_" + p.Name, Name: startTool + string(state), Arguments: arguments}, err
}

// note notes what became of the parts at work. It returns the numbers of those that may be run
// again.
func (s *flow) note(results []messages.ToolOutput) (again []int) {
	outs, hopeless := map[string]delegation.Output{}, map[string]bool{}
	for _, r := range results {
		outs[r.CallID] = outputOf(r)
	}
	for id, b := range s.takeBranches() {
		outs[id], hopeless[id] = b.Output, b.NoChild
	}
	for _, i := range s.open {
		p := s.together[i]
		out, ok := outs["part_"+p.Name]
		if !ok {
			continue
		}
		out = s.judged(p, out)
		s.keep(p, out)
		s.tried[i] = resultOf(p, out)
		if retriable(out) && !hopeless["part_"+p.Name] {
			again = append(again, i)
		}
	}
	s.open = nil
	return again
}

// stageEnded goes on when all parts at work have ended: with those that are run again, then with
// the Fallbacks.
func (s *flow) stageEnded(results []messages.ToolOutput) nextstep.NextStep {
	level := s.level()
	var again, instead []int
	for _, i := range s.note(results) {
		if level >= 0 && s.together[i].Retries > level {
			again = append(again, i)
		}
	}
	if len(again) > 0 {
		return s.stage(retried, again)
	}
	for i, p := range s.together {
		if err := s.tried[i].Err; level >= 0 && err != nil && p.instead != "" && err.Code != delegation.CodeUnknown {
			instead = append(instead, i)
		}
	}
	if len(instead) > 0 {
		return s.stage(fellBack, instead)
	}
	s.results, s.tried = append(s.results, s.tried...), nil
	for i, r := range s.results {
		if r.Err != nil && s.together[i].OnFailure != FailureContinue {
			return s.fail(r.Err)
		}
	}
	return s.next(s, nil)
}

// level returns how often the parts at work were run before; -1 for Fallbacks.
func (s *flow) level() int {
	for i, state := range s.stages {
		if state == s.State() && state != fallingBack {
			return i
		}
	}
	return -1
}

// stageStopped notes what the parts at work came to when the run was stopped.
func (s *flow) stageStopped() {
	s.note(nil)
	for _, r := range s.tried {
		if r.Part != "" {
			s.results = append(s.results, r)
		}
	}
	s.tried = nil
}

// joined is the result of several parts: that of the part that reduces them or, without one, all.
func joined(s *flow) (text string, data json.RawMessage, ok bool) {
	var b strings.Builder
	all := map[string]json.RawMessage{}
	for _, r := range s.results {
		p := s.part(r.Part)
		switch {
		case r.Err != nil:
			continue
		case p == s.reducer:
			return r.Text, r.Data, true
		}
		said, value := r.Text, r.Data
		if said == "" {
			said = string(r.Data)
		}
		if value == nil {
			value, _ = json.Marshal(r.Text) // a string can be encoded
		}
		fmt.Fprintf(&b, "%s:\n%s\n\n", r.Part, said)
		all[r.Part] = value
	}
	if len(all) == 0 {
		return "", nil, false
	}
	raw, err := nextstep.Encode(all)
	if err != nil { // a part elsewhere may have left what is not JSON
		raw = nil
	}
	return strings.TrimSpace(b.String()), raw, true
}
