package explore

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// toolKind is the part of a call that decides what can happen to it.
type toolKind struct {
	safe  bool
	again bool // it has waited for somebody
}

// ofTool returns everything that can happen to a call.
func (w *world) ofTool(e *machine.Effect) []Reaction {
	key := toolKind{safe: e.Safe(), again: len(e.Replies) > 0}
	if list, ok := w.tools[key]; ok {
		return list
	}
	ends := func(name string, out messages.ToolOutput) Reaction {
		return Reaction{Name: "tool " + name, Odd: name != "ok", Record: func(e *machine.Effect) machine.Record {
			out.CallID, out.ToolName = e.Call.ID, e.Call.Name
			return e.Answered(nextstep.ToolResult{Output: out}, time.Time{}, 0)
		}}
	}
	list := []Reaction{
		ends("ok", messages.ToolOutput{Status: messages.StatusOK, Output: "tool output"}),
		ends("failed", messages.ToolOutput{Status: messages.StatusFailed, Reason: tools.ReasonError, Output: "it failed"}),
		ends("untrusted", messages.ToolOutput{Status: messages.StatusOK, Output: "from outside", Untrusted: true}),
		ends("huge", messages.ToolOutput{Status: messages.StatusOK, Output: huge}),
	}
	if !e.Safe() {
		list = append(list, ends("unknown", messages.ToolOutput{Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted, Output: "who knows"}))
	}
	if len(e.Replies) == 0 {
		list = append(list, Reaction{Name: "tool suspended", Odd: true, Record: func(e *machine.Effect) machine.Record {
			wait := machine.Wait{Run: e.Run, Frame: e.Frame, Seq: e.ID.Seq, Kind: machine.WaitQuestion, CallID: e.Call.ID, Tool: e.Call.Name, Arguments: e.Call.Arguments, Text: "which one?", Untrusted: e.Untrusted}
			return machine.Suspended{Effect: e.ID, Waits: []machine.Wait{wait.Identified(e.ID)}, State: json.RawMessage(`{"so":"far"}`)}
		}})
	}
	if w.tools == nil {
		w.tools = map[toolKind][]Reaction{}
	}
	w.tools[key] = list
	return list
}

// huge is a result that is larger than strategies expect.
var huge = strings.Repeat("huge ", 2000)
