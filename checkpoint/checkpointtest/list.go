package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

var (
	dueSoon = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	dueLate = dueSoon.Add(48 * time.Hour)
)

// population are runs of every kind, by a letter each.
func population() map[checkpoint.Key]checkpoint.Header {
	labels := func(texts ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(texts); i += 2 {
			m[texts[i]] = texts[i+1]
		}
		return m
	}
	approval, question := checkpoint.Wait{ID: "1", Kind: "approval"}, checkpoint.Wait{ID: "2", Kind: "question"}
	return map[checkpoint.Key]checkpoint.Header{
		{Run: "a"}:                       {Status: checkpoint.StatusRunning, Strategy: "react", Labels: labels("team", "x")},
		{Run: "b"}:                       {Status: checkpoint.StatusWaiting, Strategy: "react", Waits: []checkpoint.Wait{approval, question}, Due: dueSoon},
		{Run: "c"}:                       {Status: checkpoint.StatusWaiting, Strategy: "React", Waits: []checkpoint.Wait{question, question}, Labels: labels("team", "x", "k", "")},
		{Run: "d"}:                       {Status: checkpoint.StatusWaiting, Waits: []checkpoint.Wait{{ID: "approval", Kind: "timer"}}, Due: dueLate, Labels: labels("team", "X")},
		{Run: "e"}:                       {Status: checkpoint.StatusParked, Strategy: "react_", Reason: "approval", Labels: labels("x", "team")},
		{Run: "f"}:                       {Status: checkpoint.StatusDone, Origin: checkpoint.Origin{Run: "a", Record: 1}, Labels: labels("team", "x", "odd.'\"$%\\ é", "a\nb")},
		{Run: "g"}:                       {Status: checkpoint.StatusFailed, Origin: checkpoint.Origin{Run: "aa"}, Labels: labels("team", "x,k")},
		{Run: "h"}:                       {Status: "a status of tomorrow", Labels: labels("Team", "x")},
		{Namespace: "n", Run: "a"}:       {Status: checkpoint.StatusRunning, Strategy: "react", Origin: checkpoint.Origin{Run: "a"}},
		{Namespace: "n", Run: "i"}:       {Status: checkpoint.StatusWaiting, Strategy: "react", Waits: []checkpoint.Wait{approval}, Due: dueSoon, Labels: labels("team", "x")},
		{Namespace: "n'%", Run: "j"}:     {Status: checkpoint.StatusDone},
		{Namespace: "na", Run: "a"}:      {Status: checkpoint.StatusRunning},
		{Namespace: "N", Run: "a"}:       {Status: checkpoint.StatusRunning},
		{Namespace: "n/a", Run: "a"}:     {Status: checkpoint.StatusLimit},
		{Namespace: "\u00e9", Run: "ab"}: {Status: checkpoint.StatusStopped},
	}
}

// asked is a query of the population, and the runs that it asks for.
type asked struct {
	want string
	checkpoint.Query
}

func queries() []asked {
	type (
		q      = checkpoint.Query
		status = []checkpoint.Status
		labels = map[string]string
	)
	elsewhere := time.FixedZone("", -5*3600)
	return []asked{
		{"a b c d e f g h", q{}},
		{"n/a n/i", q{Namespace: "n"}},
		{"N/a", q{Namespace: "N"}},
		{"n'%/j", q{Namespace: "n'%"}},
		{"", q{Namespace: "m"}},
		{"a b c d e f g h N/a n/a n/i n'%/j n/a/a na/a \u00e9/ab", q{All: true, Namespace: "m"}},

		{"a", q{Status: status{checkpoint.StatusRunning}}},
		{"b c d", q{Status: status{checkpoint.StatusWaiting}}},
		{"f g", q{Status: status{checkpoint.StatusFailed, checkpoint.StatusDone, checkpoint.StatusDone, "wait"}}},
		{"h", q{Status: status{"a status of tomorrow"}}},

		{"a b", q{Strategy: "react"}},
		{"e", q{Strategy: "react_"}},
		{"a b n/a n/i", q{Strategy: "react", All: true}},

		{"a c f", q{Labels: labels{"team": "x"}}},
		{"c", q{Labels: labels{"team": "x", "k": ""}}},
		{"d", q{Labels: labels{"team": "X"}}},
		{"f", q{Labels: labels{"odd.'\"$%\\ é": "a\nb"}}},
		{"g", q{Labels: labels{"team": "x,k"}}},
		{"a c f n/i", q{All: true, Labels: labels{"team": "x"}}},

		{"b", q{Wait: "approval"}},
		{"b c", q{Wait: "question"}},
		{"b n/i", q{Wait: "approval", All: true}},

		{"f", q{Origin: "a"}},
		{"f n/a", q{Origin: "a", All: true}},

		{"b", q{Due: dueSoon}},
		{"b d", q{Due: dueLate.In(elsewhere)}},
		{"", q{Due: dueSoon.Add(-time.Second)}},
		{"b", q{Due: dueLate.Add(-time.Second)}},

		{"b", q{Status: status{checkpoint.StatusWaiting, checkpoint.StatusRunning}, Strategy: "react", Wait: "question", Due: dueLate}},
		{"n/i", q{Namespace: "n", Status: status{checkpoint.StatusWaiting}, Labels: labels{"team": "x"}, Wait: "approval", Due: dueLate}},
		{"f", q{All: true, Origin: "a", Labels: labels{"team": "x"}, Status: status{checkpoint.StatusDone}}},
		{"", q{Status: status{checkpoint.StatusRunning}, Wait: "approval"}},
	}
}

// keyed names runs, those of a list in any order.
func keyed(heads []checkpoint.Head) string {
	ids := make([]string, len(heads))
	for i, h := range heads {
		ids[i] = h.Key.String()
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// listed makes a query, and compares.
func listed(ctx context.Context, l checkpoint.Lister, q checkpoint.Query, want string) error {
	page, err := l.List(ctx, q)
	if err != nil {
		return fmt.Errorf("list of %+v: %w", q, err)
	}
	sorted := strings.Fields(want)
	slices.Sort(sorted)
	if got := keyed(page.Heads); got != strings.Join(sorted, " ") {
		return fmt.Errorf("list of %+v: got runs %q, want %q", q, got, sorted)
	}
	return inOrder(page.Heads)
}

// inOrder compares the places of runs with the order that lists have.
func inOrder(heads []checkpoint.Head) error {
	for i := 1; i < len(heads); i++ {
		a, b := heads[i-1], heads[i]
		order := b.Created.Compare(a.Created)
		if order == 0 {
			order = strings.Compare(a.Key.Namespace, b.Key.Namespace)
		}
		if order == 0 {
			order = strings.Compare(a.Key.Run, b.Key.Run)
		}
		if order >= 0 {
			return fmt.Errorf("a list has run %.64q, created at %s, before run %.64q, created at %s", a.Key, a.Created, b.Key, b.Created)
		}
	}
	return nil
}

// list makes queries of each field, and of several.
func list(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Lister](s)
	if err != nil {
		return err
	}
	if err := listed(ctx, l, checkpoint.Query{All: true}, ""); err != nil {
		return err
	}
	heads := map[checkpoint.Key]string{}
	for key, header := range population() {
		b := batch(key, numbered(1, 2)...)
		b.Header = &header
		if err := put(ctx, s, b); err != nil {
			return err
		}
		h, err := s.Head(ctx, key)
		if err != nil {
			return err
		}
		heads[key] = whole(h)
	}
	var wrong []error
	for _, q := range queries() {
		wrong = append(wrong, listed(ctx, l, q.Query, q.want))
	}
	page, err := l.List(ctx, checkpoint.Query{All: true})
	for _, h := range page.Heads {
		if whole(h) != heads[h.Key] {
			wrong = append(wrong, fmt.Errorf("a list has\n     %s\nand Head\n     %s", whole(h), heads[h.Key]))
		}
	}
	return errors.Join(append(wrong, err)...)
}

// listUpdated lists runs by when they were appended to.
func listUpdated(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Lister](s)
	if err != nil {
		return err
	}
	var heads []checkpoint.Head
	for i, id := range []string{"a", "b", "c", "a"} {
		time.Sleep(2 * time.Millisecond) // by a clock of milliseconds the times are different
		if err := fill(ctx, s, named(id), numbered(1+i/3, 1)); err != nil {
			return err
		}
		h, err := s.Head(ctx, named(id))
		if err != nil {
			return err
		}
		heads = append(heads, h)
	}
	elsewhere := time.FixedZone("", 9*3600)
	return errors.Join(
		listed(ctx, l, checkpoint.Query{Updated: heads[1].Updated}, ""),
		listed(ctx, l, checkpoint.Query{Updated: heads[2].Updated.In(elsewhere)}, "b"),
		listed(ctx, l, checkpoint.Query{Updated: heads[3].Updated}, "b c"),
		listed(ctx, l, checkpoint.Query{Updated: heads[3].Updated.Add(time.Hour)}, "a b c"),
	)
}

// listFields makes queries of all fields at once, and compares with a Memory. Some headers have been
// replaced by others before.
func listFields(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Lister](s)
	if err != nil {
		return err
	}
	memory := new(checkpoint.Memory)
	inbox, _ := checkpoint.As[checkpoint.Inbox](s)
	statuses := []checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusWaiting, checkpoint.StatusDone, "a\x00b"}
	for i := range 60 {
		b := batch(checkpoint.Key{Namespace: []string{"", "a", "B"}[i%3], Run: fmt.Sprint("run-", i)}, numbered(1, 1)...)
		h := checkpoint.Header{Status: statuses[i%4], Labels: map[string]string{"five": fmt.Sprint(i % 5), "\x00": "\x00"}}
		if i%4 == 0 {
			h.Waits, h.Due = []checkpoint.Wait{{ID: "1", Kind: "k"}}, time.Unix(int64(1000+i), 0)
		}
		b.Header = &h
		again := h
		again.Status, again.Strategy = statuses[(i+i/9)%4], "t"
		for _, one := range []checkpoint.Store{s, memory} {
			if err := errors.Join(put(ctx, one, b), put(ctx, one, checkpoint.Batch{Key: b.Key, Writer: owner, Epoch: 1, Header: &again})); err != nil {
				return err
			}
		}
		if inbox != nil && i%7 == 0 {
			if err := errors.Join(inbox.Post(ctx, note(b.Key, "m")), memory.Post(ctx, note(b.Key, "m"))); err != nil {
				return err
			}
		}
	}
	for bits := range 1 << 9 {
		has := func(bit int) bool { return bits&(1<<bit) != 0 }
		q := checkpoint.Query{All: has(0), Posted: has(1) && inbox != nil, Unleased: has(2), Namespace: "a"}
		if has(3) {
			q.Status = statuses[bits%3:]
		}
		if has(4) {
			q.Labels = map[string]string{"five": "2", "\x00": "\x00"}
		}
		if has(5) {
			q.Wait = "k"
		}
		if has(6) {
			q.Due = time.Unix(1030, 0)
		}
		if has(7) {
			q.Limit = 3
		}
		if has(8) {
			q.Strategy = "t"
		}
		want, wantErr := pages(ctx, memory, q, nothingBetween)
		got, err := pages(ctx, l, q, nothingBetween)
		if err := errors.Join(err, wantErr, inOrder(got)); err != nil {
			return err
		}
		if keyed(got) != keyed(want) {
			return fmt.Errorf("list of %+v: got the runs %q, want %q", q, keyed(got), keyed(want))
		}
	}
	return nil
}
