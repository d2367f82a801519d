package machine_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// through is what a record is before it is applied again.
var through = func(r machine.Record) machine.Record {
	text, err := machine.AppendRecord(nil, r)
	if err == nil {
		r, err = machine.ReadRecord(text)
	}
	if err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
	return r
}

// cases holds a property against as many cases as prove.Cases says.
func cases(t *testing.T, property func(t *rapid.T)) {
	t.Helper()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		require.NoError(t, checks.Value.Set(strconv.Itoa(prove.Cases())))
		t.Cleanup(func() { require.NoError(t, checks.Value.Set(checks.DefValue)) })
	}
	rapid.Check(t, property)
}

// A run that is replayed from its records gives the same effects, events and output, record by
// record: whatever its strategies do, in whatever order effects end, wherever it is stopped, and
// however often it broke off.
func TestReplay_isLive(t *testing.T) {
	cases(t, func(t *rapid.T) {
		e := drive(t, policy(t, generated(program(t, true))), machine.Started{
			Strategy: "p0", Input: delegation.Input{Goal: "go"},
			Parallel: rapid.SampledFrom([]int{4, 1, 2, 0}).Draw(t, "parallel"), Limits: limits(t),
		})
		w := world{agreeable: rapid.Bool().Draw(t, "agreeable")}
		for range 400 {
			if e.m.Done() {
				break
			}
			disturb(t, e)
			if !e.m.Done() {
				e.turn(w, chance(t, 1<<20))
			}
		}
		require.True(t, e.m.Done())
		e.replays(through)
		used, l := e.m.Output().Counts, e.m.Started().Limits
		require.NoError(t, e.m.Output().Messages.Validate())
		if l.Steps > 0 {
			require.LessOrEqual(t, used.Steps, l.Steps)
			require.LessOrEqual(t, used.ModelCalls, l.ModelCalls)
			require.LessOrEqual(t, used.ToolCalls, l.ToolCalls)
		}
	})
}

// policy draws what judges calls.
func policy(t *rapid.T, cfg *machine.Config) *machine.Config {
	cfg.Approve = rapid.SampledFrom([]machine.ApprovalPolicy{
		nil, machine.AllowAlways, machine.AskIfUntrusted, machine.AskIfChanging,
		func(r machine.ApprovalRequest) machine.Verdict {
			return machine.Verdict(number(r.Call.Name+r.Call.Arguments) % 3)
		},
	}).Draw(t, "policy")
	return cfg
}

// limits draws the limits of a run.
func limits(t *rapid.T) delegation.Limits {
	if chance(t, 2) == 0 {
		return delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1}
	}
	return delegation.Limits{
		Steps: 1 + chance(t, 40), ModelCalls: 1 + chance(t, 20), ToolCalls: 1 + chance(t, 30), TotalTokens: int64(1 + chance(t, 300)), Depth: 1 + chance(t, 6),
	}
}

// disturb has the run stopped, noted or broken off, now and then.
func disturb(t *rapid.T, e *engine) {
	switch chance(t, 60) {
	case 8:
		e.stop(machine.Stopped{Now: chance(t, 2) == 0})
	case 1:
		if frames := e.frames(); len(frames) > 0 {
			e.stop(machine.Stopped{Now: chance(t, 2) == 0, Frame: frames[chance(t, len(frames))]})
		}
	case 3:
		e.apply(machine.Noted{At: e.tick(), Text: "well"})
	case 4, 5, 6:
		e.crash(0)
		unknown := machine.UnknownAsk
		if chance(t, 2) == 0 {
			unknown = machine.UnknownTell
		}
		e.resume(machine.Resumed{Unknown: unknown})
	case 7:
		if len(e.open) > 0 && slices.ContainsFunc(e.seen, func(o outbox) bool { return len(o.withdrawn) > 0 }) {
			e.unbegun(e.open[chance(t, len(e.open))])
		}
	}
}

// unbegun says of an effect that it was not begun, where that can be.
func (e *engine) unbegun(x machine.Effect) {
	r := x.Answered(nil, e.now, 0)
	r.NotBegun = true
	if x.Kind == machine.EffectPerson || slices.Contains(e.asking, x.ID) {
		return
	}
	if e.m.Apply(r) != nil {
		return // its run goes on
	}
	e.applied(r)
	e.ended(x.ID)
	e.goOn()
}

// frames returns the names of the frames that wait for something, and of those above them.
func (e *engine) frames() []string {
	var all []string
	for _, x := range e.open {
		for name, more := x.Frame, true; more; {
			all = append(all, name)
			i := strings.LastIndex(name, ".")
			if more = i > 0; more {
				name = name[:i]
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// turn has one of the open effects end.
func (e *engine) turn(w world, which int) {
	var can []machine.Effect
	for _, x := range e.open {
		if !slices.Contains(e.asking, x.ID) || slices.Contains(e.cut, x.ID) {
			can = append(can, x)
		}
	}
	if len(can) == 0 { // those that asked somebody, and are told that nobody will answer
		can = e.open
	}
	x := can[which%len(can)]
	if slices.Contains(e.cut, x.ID) && which%3 > 0 {
		e.ended(x.ID)
		e.apply(x.Answered(nextstep.Failure{Code: delegation.CodeStopped, Message: "cut off", Partial: partial(&x)}, e.tick(), 0))
		return
	}
	if slices.Contains(e.asking, x.ID) { // it asked somebody, and the answer will not come
		x.Replies = []machine.Exchange{{Err: &delegation.Error{Code: delegation.CodeStopped}}}
	}
	switch r := w.record(&x, e.tick()).(type) {
	case machine.Asked:
		e.askFor(&x, r)
	default:
		e.ended(x.ID)
		e.apply(r)
	}
}

// askFor has an effect ask somebody. One whose run ends is not asked for any more, and ends.
func (e *engine) askFor(x *machine.Effect, r machine.Asked) {
	if e.m.Apply(r) == nil {
		e.asks(x.ID)
		e.applied(r)
		e.goOn()
		return
	}
	e.ended(x.ID)
	e.apply(x.Answered(result(x.Call.ID, "nobody is asked any more"), r.At, 0))
}

// partial is what had arrived of a model's reply.
func partial(x *machine.Effect) messages.Assistant {
	if x.Kind != machine.EffectModel {
		return messages.Assistant{}
	}
	return messages.AssistantText("half a")
}
