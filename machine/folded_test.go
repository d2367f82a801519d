package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// bounds is what bounds a run between two records: limits and what is left of them, what was used,
// where its text comes from, the tools that it may use, and what people were asked and approved.
type bounds struct {
	started machine.Started
	frames  []machine.FrameView
	allowed map[string][]tools.Definition // by the frame
	waits   []machine.Wait
	open    []openEffect
}

// openEffect is what an open effect may do.
type openEffect struct {
	id        machine.EffectID
	call      messages.ToolCall // with its arguments
	approved  bool
	untrusted bool
	digest    string   // of the step or call
	offered   []string // the names of the tools on offer
}

// boundsOf returns the bounds of a run.
func boundsOf(m *machine.Machine) bounds {
	b := bounds{started: m.Started(), frames: m.Frames(), allowed: map[string][]tools.Definition{}, waits: m.Waits()}
	for _, f := range b.frames {
		b.allowed[f.Name] = m.Allowed(f.Name)
	}
	for _, x := range m.Open() {
		o := openEffect{id: x.ID, call: x.Call, approved: x.Approved, untrusted: x.Untrusted, digest: x.Digest}
		if step, ok := x.Step.(nextstep.GetChatCompletion); ok {
			for _, d := range step.Request.Tools {
				o.offered = append(o.offered, d.Name)
			}
		}
		b.open = append(b.open, o)
	}
	return b
}

// same holds other bounds to be the same.
func (b bounds) same(t *rapid.T, other bounds, when string) {
	require.Equal(t, b.frames, other.frames, when)
	require.Equal(t, b.waits, other.waits, when)
	require.Equal(t, b.open, other.open, when)
	require.Equal(t, b.allowed, other.allowed, when)
	require.Equal(t, b.started, other.started, when)
}

// otherwise is the Config of another process: with other limits and defaults, another tool, and
// other things said of the tools that were there.
func otherwise(cfg *machine.Config) *machine.Config {
	other := *cfg
	other.Limits = delegation.Limits{Depth: 2, Steps: 3, ModelCalls: 2, ToolCalls: 1, TotalTokens: 10, Cost: 1, Duration: time.Second}
	other.Parallel, other.MaxResult, other.Expires = 1, 5, time.Minute
	other.Tools = slices.Clone(cfg.Tools)
	for i := range other.Tools {
		d := &other.Tools[i]
		d.Untrusted, d.NeedsApproval = !d.Untrusted, !d.NeedsApproval
	}
	other.Tools = append(other.Tools, tools.Definition{Name: "fresh"})
	return &other
}

// Budgets, approvals, taint and allow-lists come back as they were: a run that is folded from its
// journal, by a process that is configured otherwise, has the bounds of the live run after each of
// its records, and keeps them when it is resumed, except for the limits that Resumed changes.
func TestFold_boundsAsTheyWere(t *testing.T) {
	cases(t, func(t *rapid.T) {
		e := idle(t, policy(t, generated(program(t, true))))
		folded := machine.New(otherwise(e.cfg))
		e.after = func(r machine.Record) {
			require.NoError(t, folded.Apply(through(r)))
			folded.Advance()
			boundsOf(e.m).same(t, boundsOf(folded), fmt.Sprintf("after %d records, the last a %T", len(e.records), r))
		}
		s := machine.Started{
			Strategy: "p0", Input: delegation.Input{Goal: "go"}, Parallel: []int{4, 1, 2, 0}[chance(t, 4)],
			Limits: limits(t), Expires: []time.Duration{0, -1, time.Minute}[chance(t, 3)],
		}
		if chance(t, 2) == 0 {
			s.Limits.Cost, s.Limits.Duration = messages.Cost(1+chance(t, 2000)), time.Duration(1+chance(t, 200))*time.Second
		}
		e.begin(s)
		w := world{agreeable: chance(t, 2) == 0, prices: llmclient.Prices{"m": {Input: 10, Output: 20}}}
		for range 400 {
			if e.m.Done() {
				break
			}
			disturb(t, e)
			if !e.m.Done() {
				e.turn(w, chance(t, 1<<20))
			}
		}
		for range min(6, len(e.records)) {
			e.resumesAsItWas(t, 1+chance(t, len(e.records)))
		}
	})
}

// resumesAsItWas resumes the run from so many of its records.
func (e *engine) resumesAsItWas(t *rapid.T, cut int) {
	m := machine.New(otherwise(e.cfg))
	for _, r := range e.records[:cut] {
		require.NoError(t, m.Apply(through(r)))
		m.Advance()
	}
	if m.Done() {
		return
	}
	was, how := boundsOf(m), machine.Resumed{At: m.Now().Add(time.Hour)}
	if chance(t, 2) == 0 {
		how.Limits = delegation.Limits{Steps: chance(t, 60), ToolCalls: chance(t, 60) - 1, TotalTokens: int64(chance(t, 400)), Cost: messages.Cost(chance(t, 3000))}
	}
	require.NoError(t, m.Apply(through(how)))
	is := boundsOf(m)
	require.Equal(t, was.started, is.started, "cut after %d records", cut)
	ends := func(f machine.FrameView) bool { return f.Ending != "" }
	endsNow := m.Done() || slices.ContainsFunc(is.frames, ends)
	mayEnd := how.Limits != (delegation.Limits{}) || slices.ContainsFunc(was.frames, spent)
	if mayEnd && endsNow || slices.ContainsFunc(was.frames, ends) { // some frames end at once, and others continue
		return
	}
	require.Equal(t, was.raised(how.Limits), is.bare(), "cut after %d records", cut)
	require.Equal(t, was.allowed, is.allowed, "cut after %d records", cut)
	standing := was.standing(how.At)
	require.Equal(t, was.approvals(standing), is.approvals(standing), "cut after %d records", cut)
	for _, x := range is.open {
		if i := slices.IndexFunc(was.open, func(o openEffect) bool { return o.id == x.id }); i >= 0 {
			require.Equal(t, was.open[i], x, "cut after %d records", cut)
		}
	}
}

// spent reports whether a frame has used up what answers are charged to: the next request for which
// there is a place ends it, and a resumed run has places that were taken before.
func spent(f machine.FrameView) bool {
	return f.Left.InputTokens == 0 || f.Left.OutputTokens == 0 || f.Left.TotalTokens == 0 || f.Left.Cost == 0
}

// standing returns the ids of the approvals that have not expired by then.
func (b bounds) standing(by time.Time) map[string]bool {
	ids := map[string]bool{}
	for _, w := range b.waits {
		ids[w.ID] = w.Kind == machine.WaitApproval && !w.Expired(by)
	}
	return ids
}

// approvals returns the questions whether a call may be made. Those that do not stand are asked
// anew: they have no id, time and taint here.
func (b bounds) approvals(standing map[string]bool) (list []machine.Wait) {
	for _, w := range b.waits {
		if !standing[w.ID] {
			w.ID, w.Expires, w.Untrusted = "", time.Time{}, false
		}
		if w.Kind == machine.WaitApproval {
			list = append(list, w)
		}
	}
	return list
}

// bare returns the frames without the states of their effects, which change when a run is resumed.
func (b bounds) bare() []machine.FrameView {
	frames := slices.Clone(b.frames)
	for i := range frames {
		frames[i].Effects = nil
	}
	return frames
}

// raised is bare under the limits of a Resumed: what is left is computed from what was used.
func (b bounds) raised(l delegation.Limits) []machine.FrameView {
	frames := b.bare()
	root := &frames[0].Limits
	for _, limit := range []struct {
		set bool
		do  func()
	}{
		{l.Steps != 0, func() { root.Steps = l.Steps }},
		{l.ToolCalls != 0, func() { root.ToolCalls = l.ToolCalls }},
		{l.TotalTokens != 0, func() { root.TotalTokens = l.TotalTokens }},
		{l.Cost != 0, func() { root.Cost = l.Cost }},
	} {
		if limit.set {
			limit.do()
		}
	}
	for i := range frames {
		f := &frames[i]
		f.Left.Steps, f.Left.ToolCalls, f.Left.TotalTokens, f.Left.Cost = -1, -1, -1, -1
		for _, up := range frames {
			if up.Name != f.Name && !strings.HasPrefix(f.Name, up.Name+".") {
				continue
			}
			f.Left.Steps = less(f.Left.Steps, up.Limits.Steps, up.Used.Steps)
			f.Left.ToolCalls = less(f.Left.ToolCalls, up.Limits.ToolCalls, up.Used.ToolCalls)
			f.Left.TotalTokens = less(f.Left.TotalTokens, up.Limits.TotalTokens, up.Usage.Total)
			f.Left.Cost = less(f.Left.Cost, up.Limits.Cost, up.Cost)
		}
	}
	return frames
}

// less returns the smaller of what was left and what is left of another limit; negative: no limit.
func less[N int | int64 | messages.Cost](left, limit, used N) N {
	switch {
	case limit < 0:
		return left
	case left < 0:
		return max(0, limit-used)
	default:
		return min(left, max(0, limit-used))
	}
}
