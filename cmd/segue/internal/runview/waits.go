package runview

import (
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
)

// waits collects what a run may wait for, as far as its records say. The head of a run names its
// waits by id alone, and an id is a hash of all that is asked. So what is collected here is known
// to be what is asked, or is not shown.
type waits struct {
	run   string
	known map[string]machine.Wait
	calls map[string][]messages.ToolCall // the calls of the last reply of each frame
	read  bool                           // the run has read results of tools
}

func newWaits(run string) *waits {
	return &waits{run: run, known: map[string]machine.Wait{}, calls: map[string][]messages.ToolCall{}}
}

// add keeps a wait that stands in a record.
func (w *waits) add(all ...machine.Wait) {
	for _, one := range all {
		w.known[one.ID] = one
	}
}

// mostQuestions is how often a run may have asked about one call.
const mostQuestions = 16

// intended keeps the questions that there may be about a call.
func (w *waits) intended(r machine.Intended) {
	for _, call := range w.calls[r.Frame] {
		if call.Name != r.Tool {
			continue
		}
		for n := range mostQuestions {
			of := machine.EffectID{Seq: r.Effect.Seq, Index: r.Effect.Index, Wait: n + 1}
			for kind, text := range map[string]string{
				machine.WaitApproval: "May " + call.Name + " be called?",
				machine.WaitUnknown:  "The run broke off while " + call.Name + " was called, and nobody knows whether the call had its effect. Shall it be made again?",
			} {
				w.add(machine.Wait{
					Run: w.run, Frame: r.Frame, Seq: r.Effect.Seq, Kind: kind, CallID: call.ID, Tool: call.Name,
					Arguments: call.Arguments, Text: text, Untrusted: w.read,
				}.Identified(of))
			}
		}
	}
}

// of returns the waits of a head. One whose question is not known has no Text.
func (w *waits) of(head []checkpoint.Wait) []machine.Wait {
	all := make([]machine.Wait, 0, len(head))
	for _, h := range head {
		one, ok := w.known[h.ID]
		if !ok {
			one = machine.Wait{ID: h.ID, Run: w.run, Kind: h.Kind}
		}
		all = append(all, one)
	}
	return all
}
