package strategytest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// EditCalls implements strategy.CallEditor.
func (s *shadow) EditCalls(calls []messages.ToolCall) {
	if _, ok := s.Strategy.(strategy.CallEditor); !ok {
		return
	}
	copied := s.heir
	if copied == nil {
		copied = s.copied()
	}
	s.Strategy.(strategy.CallEditor).EditCalls(slices.Clone(calls))
	if copied == nil || !s.calm(func() { copied.(strategy.CallEditor).EditCalls(slices.Clone(calls)) }) {
		return
	}
	if s.heir != nil { // it has outputs that are in no snapshot
		return
	}
	if snapshot, position, err := s.remembered(s.Strategy); err == nil {
		s.same("restored from its snapshot, it edited calls and", copied, snapshot, position)
	}
}

// hear passes a note on, to a copy too, which must then remember the same.
func (s *shadow) hear(note string) {
	copied := s.copied()
	s.Strategy.(strategy.Listener).Hear(note)
	if copied == nil || !s.calm(func() { copied.(strategy.Listener).Hear(note) }) {
		return
	}
	if snapshot, position, err := s.remembered(s.Strategy); err == nil {
		s.same("restored from its snapshot, it heard a note and", copied, snapshot, position)
	}
}

// Inherit implements strategy.Inheritor.
func (s *shadow) Inherit(out delegation.Output) {
	h, ok := s.Strategy.(strategy.Inheritor)
	if !ok {
		return
	}
	s.heir = s.copied()
	h.Inherit(out)
	if s.heir != nil && !s.calm(func() { s.heir.(strategy.Inheritor).Inherit(out) }) {
		s.heir, s.idle = nil, true
	}
}

// InheritBranches implements strategy.BranchInheritor.
func (s *shadow) InheritBranches(outs []strategy.BranchOutput) {
	h, ok := s.Strategy.(strategy.BranchInheritor)
	if !ok {
		return
	}
	s.heir = s.copied()
	h.InheritBranches(slices.Clone(outs))
	if s.heir != nil && !s.calm(func() { s.heir.(strategy.BranchInheritor).InheritBranches(slices.Clone(outs)) }) {
		s.heir, s.idle = nil, true
	}
}

// Conclude implements strategy.Concluder.
func (s *shadow) Conclude(reason string) delegation.Output {
	c, ok := s.Strategy.(strategy.Concluder)
	if !ok {
		return delegation.Output{}
	}
	copied := s.heir
	if copied == nil {
		copied = s.copied()
	}
	out := c.Conclude(reason)
	var other delegation.Output
	if copied == nil || !s.calm(func() { other = copied.(strategy.Concluder).Conclude(reason) }) {
		return out
	}
	want, err := json.Marshal(out)
	got, otherErr := json.Marshal(other)
	if string(want) != string(got) {
		s.report(fmt.Sprintf("restored from its snapshot, it concluded differently (%v, %v):\n%s\n%s", err, otherErr, want, got))
	}
	return out
}

// UseTools implements strategy.ToolUser.
func (s *shadow) UseTools(defs []tools.Definition) {
	s.given, s.uses = defs, true
	if u, ok := s.Strategy.(strategy.ToolUser); ok {
		u.UseTools(defs)
	}
}

// Tools implements strategy.ToolProvider.
func (s *shadow) Tools() []tools.Tool {
	if p, ok := s.Strategy.(strategy.ToolProvider); ok {
		return p.Tools()
	}
	return nil
}

// Names implements strategy.Namer.
func (s *shadow) Names() strategy.Names { return strategy.NamesOf(s.Strategy) }

// Check implements strategy.Checker.
func (s *shadow) Check() error {
	if c, ok := s.Strategy.(strategy.Checker); ok {
		return c.Check()
	}
	return nil
}
