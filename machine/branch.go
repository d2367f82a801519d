package machine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Agent is a strategy that is called as a tool.
type Agent = strategy.Agent

// AgentOf returns the agent of a tool: the result of its method Agent() *Agent, or of the same
// method of a tool that it wraps (Unwrap() tools.Tool). It returns nil if the tool is not an agent.
func AgentOf(t tools.Tool) *Agent {
	for t != nil {
		if a, ok := t.(interface{ Agent() *Agent }); ok {
			return a.Agent()
		}
		u, ok := t.(interface{ Unwrap() tools.Tool })
		if !ok {
			return nil
		}
		t = u.Unwrap()
	}
	return nil
}

// branch is a stack of frames that answers a call; the branch of the root answers none. If one
// frame of a branch reads text from outside, all of its frames are marked as untrusted.
type branch struct {
	untrusted bool
	source    string // the first source of untrusted text, for people
	news      int    // see Machine.news
}

// taint marks the branch as untrusted.
func (b *branch) taint(source string) {
	if !b.untrusted {
		b.untrusted, b.source = true, source
	}
}

// branches holds the branches of one call.
type branches struct {
	open    int  // number of branches that have not ended
	several bool // the results become a list
	results []branchResult
	tainted bool
}

type branchResult struct {
	text   string
	failed bool
	ended  *strategy.BranchOutput // for a BranchInheritor
}

// openBranches starts the branches of a call.
func (m *Machine) openBranches(e *effect) {
	m.toolStarted(e)
	inputs, several, refused := m.agentInputs(e)
	if refused != nil {
		m.endCall(e, *refused)
		return
	}
	m.move(e, nested)
	e.branches = &branches{open: len(inputs), several: several, results: make([]branchResult, len(inputs))}
	for i := range inputs {
		m.openBranch(e, i, inputs[i])
	}
}

// agentInputs calls the agent's Inputs, which is foreign code, and so is its error. If there are no
// inputs, it returns the result of the call instead.
func (m *Machine) agentInputs(e *effect) (inputs []delegation.Input, several bool, refused *messages.ToolOutput) {
	refuse := func(reason, text string) {
		out := m.callOutput(e, messages.StatusFailed, reason, text)
		inputs, refused = nil, &out
	}
	defer func() {
		if v := recover(); v != nil {
			refuse(tools.ReasonPanic, fmt.Sprintf("machine: the agent %s %v", e.call.Name, m.panicked(e.frame, "the agent "+e.call.Name, v)))
		}
	}()
	inputs, several, err := e.agent.Inputs(e.call.Arguments)
	switch {
	case err != nil:
		reason := tools.ReasonError
		if guard.Finite(err) {
			if _, ok := errors.AsType[*tools.ArgumentError](err); ok {
				reason = tools.ReasonArguments
			}
		}
		refuse(reason, err.Error())
	case len(inputs) == 0:
		refuse(tools.ReasonError, fmt.Sprintf("machine: the agent %s was given no input", e.call.Name))
	case e.agent.Branches > 0 && len(inputs) > e.agent.Branches:
		refuse(tools.ReasonError, fmt.Sprintf("machine: the agent %s was given %d inputs, more than %d", e.call.Name, len(inputs), e.agent.Branches))
	}
	return inputs, several, refused
}

// openBranch starts the branch for one input.
func (m *Machine) openBranch(e *effect, i int, in delegation.Input) {
	caller := e.frame
	f, err := m.newChild(caller, e.agent.Strategy, in, e.agent.Limits, e.agent.Tools)
	if err != nil {
		r := branchResult{text: err.Error(), failed: true}
		r.ended = caller.inherits(e, delegation.Output{Err: &delegation.Error{Code: delegation.CodeInvalid, Message: err.Error()}}, true)
		m.branchEnded(e, i, r)
		return
	}
	b := &branch{untrusted: caller.branch.untrusted, source: caller.branch.source}
	if holdsUntrusted(in.Messages) {
		b.taint("the input of " + e.id.String())
	}
	f.branch, f.call, f.place = b, e, i
	m.schedule(f, m.enter(f))
}

// branchEnded stores the result of a branch; the last result ends the call.
func (m *Machine) branchEnded(e *effect, i int, r branchResult) {
	b := e.branches
	b.results[i] = r
	if b.open--; b.open > 0 {
		return
	}
	text, failed := b.results[0].text, b.results[0].failed
	if b.several {
		text, failed = b.gathered()
	}
	status, reason := messages.StatusOK, ""
	if failed {
		status, reason = messages.StatusFailed, tools.ReasonError
	}
	out := m.callOutput(e, status, reason, textcut.Fit(text, m.maxResult(e.def)))
	out.Untrusted = b.tainted || e.def.Untrusted
	m.endCall(e, out)
}

// gathered joins the results of several branches into one. The joined result is a failure only if
// all branches failed.
func (b *branches) gathered() (string, bool) {
	texts, failed := make([]string, len(b.results)), 0
	for i, r := range b.results {
		if texts[i] = r.text; r.failed {
			failed++
			texts[i] = "failed: " + r.text
		}
	}
	data, err := json.Marshal(texts)
	if err != nil { // a list of strings always has a JSON form
		return err.Error(), true
	}
	return string(data), failed == len(texts)
}

// leaveBranch converts the output of a branch's first frame to the result of its call.
func (m *Machine) leaveBranch(f *frame, out *delegation.Output) {
	e, r := f.call, branchResult{text: out.Text()}
	if out.Err != nil {
		var text strings.Builder
		fmt.Fprintf(&text, "machine: agent %s ended as %s: %s", e.call.Name, statusOf(out.Err), out.Err.Message)
		if r.text != "" {
			text.WriteString("\nIt had reached this:\n" + r.text)
		}
		r = branchResult{text: text.String(), failed: true}
	}
	r.ended = e.frame.inherits(e, *out, false)
	e.branches.tainted = e.branches.tainted || f.branch.untrusted
	m.branchEnded(e, f.place, r)
}

// inherits returns the output of a branch as the caller's strategy will receive it; nil if that
// strategy does not want it.
func (f *frame) inherits(e *effect, out delegation.Output, noChild bool) *strategy.BranchOutput {
	if _, ok := f.st.(strategy.BranchInheritor); !ok {
		return nil
	}
	return &strategy.BranchOutput{CallID: e.call.ID, NoChild: noChild, Output: out}
}

// inheritBranches passes the outputs of the branches of a batch to a strategy that wants them. If
// it panics, its frame fails.
func (m *Machine) inheritBranches(f *frame) (failed nextstep.NextStep) {
	h, ok := f.st.(strategy.BranchInheritor)
	if !ok {
		return nil
	}
	var outs []strategy.BranchOutput
	for i := range f.batch.calls {
		if b := f.batch.calls[i].branches; b != nil {
			for _, r := range b.results {
				if r.ended != nil {
					outs = append(outs, *r.ended)
				}
			}
		}
	}
	if len(outs) == 0 {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			failed = nextstep.ReportError{Err: m.brokeDown(f, "InheritBranches", v)}
		}
	}()
	h.InheritBranches(outs)
	return nil
}

// maxResult returns how many bytes of a tool's result are kept.
func (m *Machine) maxResult(def *tools.Definition) int {
	if def.MaxResult != 0 {
		return def.MaxResult
	}
	return cmp.Or(m.started.MaxResult, tools.DefaultMaxResult)
}

// panicked reports a panic in foreign code, and returns it as an error.
func (m *Machine) panicked(f *frame, where string, v any) *PanicError {
	p := &PanicError{Value: v, Stack: debug.Stack()}
	if m.cfg.OnPanic != nil {
		report := PanicReport{Run: m.run, Where: where, Value: v, Stack: p.Stack}
		if f != nil {
			report.Frame, report.Seq = f.name, f.seq
		}
		func() {
			defer func() { _ = recover() }() // OnPanic may panic too
			m.cfg.OnPanic(report)
		}()
	}
	return p
}
