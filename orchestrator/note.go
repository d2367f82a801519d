package orchestrator

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// notesAtOnce is how many notes of a channel are read before the run goes on.
const notesAtOnce = machine.MaxNotes

// noteProblem returns why a text cannot be a note; "" if it can.
func noteProblem(text string) string {
	size := len(string([]rune(text))) // as it is stored: each byte that is not UTF-8 takes three
	switch {
	case strings.TrimSpace(text) == "":
		return "the note is empty"
	case size > machine.MaxNote:
		return fmt.Sprintf("the note has %d bytes, and %d are allowed", size, machine.MaxNote)
	default:
		return ""
	}
}

// noteRead keeps a note of the channel for applyNotes. A channel that was closed is not read again.
func (r *run) noteRead(text string, ok bool) {
	if !ok {
		r.notes = nil
		return
	}
	r.unapplied = append(r.unapplied, text)
}

// applyNotes applies the notes that came on the channel of the task.
func (r *run) applyNotes() {
	for range notesAtOnce {
		if r.notes == nil {
			break
		}
		select {
		case text, ok := <-r.notes:
			r.noteRead(text, ok)
			continue
		default:
		}
		break
	}
	if r.unapplied == nil || r.m.Done() {
		return
	}
	notes := r.unapplied
	r.unapplied, r.now = nil, time.Now()
	for _, text := range notes {
		err := r.note(text, false)
		if err != nil && r.unkept() == nil {
			r.o.log(r.ctx, slog.LevelWarn, "note refused", slog.String("run", r.id), slog.String("problem", err.Error()))
		}
	}
}

// note applies a note, or a remark.
func (r *run) note(text string, remark bool) error {
	if problem := noteProblem(text); problem != "" {
		return &machine.ReplyError{Run: r.id, Problem: problem}
	}
	return r.apply(machine.Noted{At: r.now, Text: text, Remark: remark})
}

// Note adds a text to a run, from any process: to its journal and, as an [machine.EventNoted], to its
// events. Strategies that are a [strategy.Listener], as nearly all built-in ones are, hear it right
// before the answer to the step in progress, and give it to their models as a message of the user;
// others go on as if there were none. An [machine.EventNoteHeard] tells that a frame has heard it, an
// [machine.EventNoteUnheard] before the last event that none has.
//
// The process that works on the run takes the note within [Config].InboxEvery. If no process does,
// the note stays in the inbox until the run is resumed. The errors are those of
// [Orchestrator.Answer]; an empty text, and one of more than [machine.MaxNote] bytes, is a
// [*machine.ReplyError].
func (o *Orchestrator) Note(ctx context.Context, key checkpoint.Key, text string) error {
	return o.postNote(ctx, key, posting{Type: postedNote, Text: text})
}

// Remark adds a text to a run as [Orchestrator.Note] does, for people who read the run: it is in
// the journal and the events, and no strategy hears it.
func (o *Orchestrator) Remark(ctx context.Context, key checkpoint.Key, text string) error {
	return o.postNote(ctx, key, posting{Type: postedNote, Text: text, Remark: true})
}

func (o *Orchestrator) postNote(ctx context.Context, key checkpoint.Key, p posting) error {
	if problem := noteProblem(p.Text); problem != "" {
		return &machine.ReplyError{Run: key.Run, Problem: problem}
	}
	head, err := o.head(ctx, key)
	if err != nil {
		return err
	}
	if head.Header.Status.Ended() {
		return &machine.ReplyError{Run: key.Run, Problem: "the run has ended"}
	}
	return o.post(ctx, key, p)
}
