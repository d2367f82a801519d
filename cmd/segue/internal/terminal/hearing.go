package terminal

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy/builtin"
)

// replyPieces is the partial reply of a model.
type replyPieces struct{ text, thought strings.Builder }

// unheardReply is a reply that was not shown, and the step that it came in.
type unheardReply struct {
	at   happening
	text string
}

// hearing keeps what the models of a run have said, and who they are.
type hearing struct {
	replies map[string]*replyPieces // text of models in their current steps, by frame
	unheard map[string]unheardReply // replies without calls that were not shown, by frame
	agents  map[string]string       // names of the agents, by frame
}

func newHearing() hearing {
	return hearing{map[string]*replyPieces{}, map[string]unheardReply{}, map[string]string{}}
}

// partialReply stores the text of models until their steps or frames end. It returns the text of
// the frame's model so far.
func (h hearing) partialReply(e machine.Event) partialReply {
	switch d := e.Detail.(type) {
	case nil:
		h.addDelta(e)
	case machine.StepTaken, machine.FrameLeft:
		defer delete(h.replies, e.Frame)
	case machine.RetryWaiting:
		if d.Discard {
			defer delete(h.replies, e.Frame)
		}
	}
	if words, ok := h.replies[e.Frame]; ok {
		return partialReply{text: words.text.String(), thought: words.thought.String()}
	}
	return partialReply{}
}

// addDelta stores a delta of a model.
func (h hearing) addDelta(e machine.Event) {
	words, ok := h.replies[e.Frame]
	if !ok {
		words = &replyPieces{}
		h.replies[e.Frame] = words
	}
	if e.Kind == machine.EventThoughtDelta {
		words.thought.WriteString(e.Text)
	} else {
		words.text.WriteString(e.Text)
	}
}

// learn keeps the names of agents.
func (h hearing) learn(e machine.Event) {
	switch d := e.Detail.(type) {
	case machine.FrameEntered:
		h.name(e.Frame, d.Strategy)
	case machine.RunResumed:
		for _, f := range d.Open {
			h.name(f.Frame, f.Strategy)
		}
	}
}

// name keeps the name of an agent below the root. The built-in strategies are no agents: a step of
// a plan has no name.
func (h hearing) name(frame, strategy string) {
	delete(h.agents, frame)
	if strings.Contains(frame, ".") && !slices.Contains(builtin.Names(), strategy) {
		h.agents[frame] = strategy
	}
}

// missed returns what a model said that is the result of nothing, such as a plan that could not be
// read, once that is known; nil if there is nothing.
func (h hearing) missed(e happening, verbose bool) []Line {
	said, ok := h.unheard[e.Frame]
	if _, moves := e.Detail.(machine.StateChanged); !ok || moves {
		return nil
	}
	delete(h.unheard, e.Frame)
	columns := TextColumns
	if d, ok := e.Detail.(machine.FrameLeft); ok {
		if d.Result != nil && strings.TrimSpace(*d.Result) == strings.TrimSpace(said.text) {
			return nil
		}
		if d.Err != nil {
			columns = lastWordsColumns
		}
	}
	shown := plaintext.OneLine(said.text)
	if !verbose {
		shown = plaintext.Head(shown, columns)
	}
	return []Line{{Plain, place(said.at) + "says: " + shown}}
}

// hold keeps the reply of a step without calls until it is known whether it is the result.
func (h hearing) hold(e happening, said partialReply) {
	if d, ok := e.Detail.(machine.StepTaken); ok && d.Err == nil && d.Calls == 0 && strings.TrimSpace(said.text) != "" {
		h.unheard[e.Frame] = unheardReply{e, said.text}
	}
}
