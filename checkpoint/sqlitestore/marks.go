package sqlitestore

import (
	"encoding/json"
	"slices"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// The classes of marks. Their numbers are stored in files.
const (
	everyRun = iota
	byStatus
	byStrategy
	byOrigin
	byLabel
	byWait
)

// mark is a property that runs are listed by, such as a label.
type mark struct {
	class       int
	name, value string
}

// marksOf returns the marks of a run, each once.
func marksOf(h *checkpoint.Header) []mark {
	list := []mark{{class: everyRun}, {class: byStatus, value: string(h.Status)}}
	if h.Strategy != "" {
		list = append(list, mark{class: byStrategy, value: h.Strategy})
	}
	if h.Origin.Run != "" {
		list = append(list, mark{class: byOrigin, value: h.Origin.Run})
	}
	for name, value := range h.Labels {
		list = append(list, mark{byLabel, name, value})
	}
	for _, wait := range h.Waits {
		if m := (mark{class: byWait, value: wait.Kind}); !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

const (
	addMark    = `INSERT INTO marks (namespace, class, name, value, created, run) VALUES (?, ?, ?, ?, ?, ?)`
	removeMark = `DELETE FROM marks WHERE namespace = ? AND class = ? AND name = ? AND value = ? AND created = ? AND run = ?`
)

func addMarks(w *writer, key checkpoint.Key, h *held, list []mark) error {
	return writeMarks(w, addMark, key, h, list)
}

func removeMarks(w *writer, key checkpoint.Key, h *held, list []mark) error {
	return writeMarks(w, removeMark, key, h, list)
}

func writeMarks(w *writer, text string, key checkpoint.Key, h *held, list []mark) error {
	for _, m := range list {
		if err := w.exec(text, key.Namespace, m.class, m.name, m.value, h.created, h.id); err != nil {
			return err
		}
	}
	return nil
}

const describeRun = `UPDATE runs SET status = ?, strategy = ?, origin = ?, header = ?, sum = ? WHERE id = ?`

const dueRun = `UPDATE runs SET due = ? WHERE id = ?`

// describe writes the header of a run, and those of its marks that have changed.
func (a *addition) describe(w *writer, h *held) error {
	key := a.batch.Key
	before, err := a.s.header(key, h.header, h.sum)
	if err != nil {
		return err
	}
	var after checkpoint.Header // as it will be read
	if err := json.Unmarshal(a.header, &after); err != nil {
		return err
	}
	old, now := marksOf(&before), marksOf(&after)
	if err := removeMarks(w, key, h, without(old, now)); err != nil {
		return err
	}
	if err := addMarks(w, key, h, without(now, old)); err != nil {
		return err
	}
	if !after.Due.Equal(before.Due) {
		var due any
		if !after.Due.IsZero() {
			due = tables.Nanos(after.Due)
		}
		if err := w.exec(dueRun, due, h.id); err != nil {
			return err
		}
	}
	return w.exec(describeRun, string(after.Status), after.Strategy, after.Origin.Run,
		string(a.header), int64(tables.Sum(key, "head", "", a.header)), h.id)
}

// without returns the marks of a list that are not in another list.
func without(list, other []mark) []mark {
	return slices.DeleteFunc(slices.Clone(list), func(m mark) bool { return slices.Contains(other, m) })
}

// header checks a stored header, and returns it.
func (s *Store) header(key checkpoint.Key, text string, want int64) (h checkpoint.Header, err error) {
	if got := tables.Sum(key, "head", "", []byte(text)); int64(got) != want {
		return h, s.corrupt(key, "the checksum of the run's head does not match")
	}
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return h, failure(&checkpoint.Error{Place: s.path, Key: key, Kind: checkpoint.ErrCorrupt, Problem: "the head of the run cannot be read", Err: err})
	}
	return h, nil
}
