package strategytest

import (
	"context"
	"slices"
	"sync"
	"testing/synctest"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// noteKeys are the keys of the steps in which the notes of a run come, in the order of the notes;
// "" for one that does not come.
type noteKeys []string

// saying makes the notes of one run in one process: those that its journal does not have.
type saying struct {
	notes   []storyNote
	channel chan string

	mu   sync.Mutex
	keys noteKeys // nil until the first run has shown where its notes come
	made []bool
}

// newSaying returns what makes the notes of a run that goes on after these records.
func newSaying(notes []storyNote, keys noteKeys, before []machine.Record) *saying {
	s := &saying{notes: notes, keys: slices.Clone(keys), made: make([]bool, len(notes))}
	if len(notes) > 0 {
		s.channel = make(chan string, len(notes))
	}
	for _, r := range before {
		n, ok := r.(machine.Noted)
		for i := range notes {
			if ok && notes[i].text == n.Text && !s.made[i] {
				s.made[i] = true
				break
			}
		}
	}
	return s
}

// around is a middleware that makes the notes of a step before it is performed; in a batch, in its
// first call. The places are those of a run from its beginning.
func (s *saying) around(at *places, next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if e.ID.Index <= 1 && s.make(keyOf(ctx), at.at(e.Frame, e.ID.Seq)) {
			synctest.Wait() // until the run has them
		}
		return next(ctx, e)
	}
}

// make makes the notes of a step, and reports whether there were any.
func (s *saying) make(key string, at place) (made bool) {
	for _, i := range s.due(key, at) {
		s.channel <- s.notes[i].text
		made = true
	}
	return made
}

// due returns the numbers of the notes that come in a step, and counts them as made.
func (s *saying) due(key string, at place) (due []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.keys == nil
	for i, note := range s.notes {
		if s.made[i] || first && !note.where.hits(at) || !first && s.keys[i] != key {
			continue
		}
		s.made[i] = true
		due = append(due, i)
		if first {
			s.notes[i].key = key
		}
	}
	return due
}

// found returns where the notes of the first run came.
func (s *saying) found() noteKeys {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make(noteKeys, len(s.notes))
	for i := range s.notes {
		keys[i] = s.notes[i].key
	}
	return keys
}

// say applies the notes that come in a step.
func (e *engine) say(key string) error {
	for _, i := range e.notes.due(key, place{}) {
		if err := e.apply(machine.Noted{Text: e.notes.notes[i].text}); err != nil {
			return err
		}
	}
	return nil
}
