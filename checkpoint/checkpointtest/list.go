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

// queries ask for every two fields at once.
func queries() (all []checkpoint.Query) {
	type (
		query  = *checkpoint.Query
		status = []checkpoint.Status
		labels = map[string]string
	)
	fields := []func(query){
		func(q query) {},
		func(q query) { q.All = true },
		func(q query) { q.Namespace = "n" },
		func(q query) { q.Namespace = "n'%" },
		func(q query) { q.Namespace = "m" },
		func(q query) { q.Limit = 2 },
		func(q query) { q.Status = status{checkpoint.StatusWaiting} },
		func(q query) {
			q.Status = status{checkpoint.StatusFailed, checkpoint.StatusDone, checkpoint.StatusDone, "wait", checkpoint.StatusRunning}
		},
		func(q query) { q.Status = status{"a status of tomorrow"} },
		func(q query) { q.Strategy = "react" },
		func(q query) { q.Strategy = "react_" },
		func(q query) { q.Labels = labels{"team": "x"} },
		func(q query) { q.Labels = labels{"team": "x", "k": ""} },
		func(q query) { q.Labels = labels{"odd.'\"$%\\ é": "a\nb"} },
		func(q query) { q.Wait = "approval" },
		func(q query) { q.Wait = "question" },
		func(q query) { q.Origin = "a" },
		func(q query) { q.Due = dueSoon },
		func(q query) { q.Due = dueLate.In(time.FixedZone("", -5*3600)) },
		func(q query) { q.Due = dueSoon.Add(-1) },
		func(q query) { q.Unleased, q.Posted = true, true },
	}
	for _, one := range fields {
		for _, another := range fields {
			for _, everywhere := range []bool{false, true} {
				q := checkpoint.Query{All: everywhere}
				one(&q)
				another(&q)
				all = append(all, q)
			}
		}
	}
	return all
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

// list makes queries of each field, and of each two.
func list(p *pair) error {
	if p.store.lister == nil {
		return lacking("Lister")
	}
	if err := p.list(checkpoint.Query{All: true}); err != nil {
		return err
	}
	for key, header := range population() {
		b := batch(key, numbered(1, 2)...)
		if key.Run < "c" && p.store.inbox != nil {
			b.Header = fullHeader() // it is replaced
			if err := errors.Join(p.append(b), p.post(note(key, key.String()))); err != nil {
				return err
			}
			b.Records = nil
		}
		b.Header = &header
		if err := p.append(b); err != nil {
			return err
		}
	}
	for _, q := range queries() {
		if q.Posted && p.store.inbox == nil {
			continue
		}
		if err := p.list(q); err != nil {
			return err
		}
	}
	page, err := p.store.lister.List(p.ctx, checkpoint.Query{All: true})
	for _, h := range page.Heads {
		if one, err := p.store.store.Head(p.ctx, h.Key); err != nil || whole(h) != whole(one) {
			return fmt.Errorf("a list has\n     %s\nand Head\n     %s (error %w)", whole(h), whole(one), err)
		}
	}
	return err
}

// listUpdated lists runs by when they were appended to.
func listUpdated(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Lister](s)
	if err != nil {
		return err
	}
	for i, step := range []struct{ id, before, all string }{{"a", "", "a"}, {"b", "a", "a b"}, {"c", "a b", "a b c"}, {"a", "b c", "a b c"}} {
		time.Sleep(2 * time.Millisecond) // by a clock of milliseconds the times are different
		if err := fill(ctx, s, named(step.id), numbered(1+i/3, 1)); err != nil {
			return err
		}
		h, err := s.Head(ctx, named(step.id))
		if err != nil {
			return err
		}
		for until, want := range map[time.Time]string{h.Updated.In(time.FixedZone("", 9*3600)): step.before, h.Updated.Add(time.Hour): step.all} {
			page, err := l.List(ctx, checkpoint.Query{Updated: until})
			if got := keyed(page.Heads); err != nil || got != want {
				return fmt.Errorf("list of runs that were not appended to since %s: got %q, want %q (error %w)", until, got, want, err)
			}
		}
	}
	return nil
}
