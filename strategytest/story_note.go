package strategytest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// storyNote is a note that a script makes.
type storyNote struct {
	where stop // the step in which it comes
	text  string
	key   string // of that step, once it is known
}

// addNote reads the command note.
func (s *story) addNote(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	if len(d.CmdArgs) != 1 || strings.TrimSpace(d.Input) == "" {
		d.Fatalf(t, "usage: note WHERE, with the text as the input")
	}
	s.notes = append(s.notes, storyNote{where: stop{where: d.CmdArgs[0].Key}, text: unquote(strings.TrimSpace(d.Input))})
}

// storyNotes makes the notes of a run, each once.
type storyNotes struct {
	*places
	channel chan string

	mu   sync.Mutex
	open []storyNote
}

func newNotes(notes []storyNote, at *places) *storyNotes {
	n := &storyNotes{places: at, open: notes}
	if len(notes) > 0 {
		n.channel = make(chan string, len(notes))
	}
	return n
}

// around is a middleware that makes the notes of a step before it is performed; in a batch, in its
// first call.
func (n *storyNotes) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if e.ID.Index <= 1 && n.make(&e) {
			synctest.Wait() // until the run has them
		}
		return next(ctx, e)
	}
}

// make makes the notes of a step, and reports whether there were any.
func (n *storyNotes) make(e *machine.Effect) (made bool) {
	at := n.at(e.Frame, e.ID.Seq)
	n.mu.Lock()
	defer n.mu.Unlock()
	var left []storyNote
	for _, note := range n.open {
		if !note.where.hits(at) {
			left = append(left, note)
			continue
		}
		n.channel <- note.text
		made = true
	}
	n.open = left
	return made
}

// left returns where the notes should have come that were not made.
func (n *storyNotes) left() (wheres []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, note := range n.open {
		wheres = append(wheres, note.where.where)
	}
	return wheres
}

// noted writes what becomes of a note.
func (tr *trace) noted(p *page, depth int, frame string, kind machine.EventKind, n *machine.Noting) {
	switch kind {
	case machine.EventNoted:
		tr.root.line(0, "note %d: %s", n.Note, n.Text)
	case machine.EventNoteUnheard:
		tr.root.line(0, "note %d was heard by nobody", n.Note)
	default:
		p.line(depth, "%s%s heard note %d", p.name, frame, n.Note)
	}
}
