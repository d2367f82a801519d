package builtin_test

import (
	"cmp"
	"strings"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// models are the live frames, as far as their models are known: not all are in a run that is
// resumed.
type models map[string]*modelled

// modelled is a frame whose requests are for a model.
type modelled struct {
	node  *composedNode // nil: it is none of the composition
	state string
	model string
}

// agentModel returns the model of an agent, by the number of its strategy.
func agentModel(i int) string {
	if i%2 == 0 {
		return ""
	}
	return "of " + nodeName(i)
}

// seeModel checks for which model a request is.
func (w *composed) seeModel(e *machine.Event) {
	if w.models == nil {
		w.models = models{}
	}
	f := w.models[e.Frame]
	switch d := e.Detail.(type) {
	case machine.FrameEntered:
		w.models.enter(e.Frame, &d, w)
	case machine.StateChanged:
		if f != nil {
			f.state = string(d.To)
		}
	case machine.StepTaken:
		if f != nil && d.Kind == nextstep.KindGetChatCompletion && d.Err == nil && !w.Edits && d.Model != f.model {
			w.blame("frame %s asks %q, and its model is %q", e.Frame, d.Model, f.model)
		}
	}
}

// enter notes the model of a frame: that of the part or agent that it is, of the frame above it, or
// of the task.
func (m models) enter(frame string, d *machine.FrameEntered, w *composed) {
	f := &modelled{}
	for i := range w.Nodes {
		if nodeName(i) == d.Strategy {
			f.node = &w.Nodes[i]
		}
	}
	above := frame[:max(0, strings.LastIndexByte(frame, '.'))]
	up := m[above]
	switch {
	case d.After != "" && m[frame] != nil:
		f.model = m[frame].model
	case above == "" && d.After == "":
		f.model = w.Model
	case up == nil || d.After != "":
		return
	default:
		f.model = cmp.Or(w.ownModel(up, d), up.model)
	}
	m[frame] = f
}

// ownModel returns the model of the part or agent that a frame is; "" if it has none.
func (w *composed) ownModel(up *modelled, d *machine.FrameEntered) (own string) {
	part := cmp.Or(strings.TrimPrefix(d.Tool, "run_"), up.state)
	for i := range mostNodes {
		if d.Tool == agentPrefix[:len(agentPrefix)-1]+nodeName(i) {
			own = agentModel(i)
			w.saw["an agent's model"] = w.saw["an agent's model"] || own != ""
			return own
		}
	}
	if up.node != nil {
		own = up.node.Models[strings.TrimSuffix(part, "_fallback")]
		w.saw["a part's model"] = w.saw["a part's model"] || own != ""
	}
	return own
}
