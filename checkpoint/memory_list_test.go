package checkpoint_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

func TestMemory_List(t *testing.T) {
	m := new(checkpoint.Memory)
	for key, header := range population() {
		require.NoError(t, m.Append(t.Context(), checkpoint.Batch{Key: key, Records: []checkpoint.Record{rec(1, "1")}, Header: &header}))
	}
	for _, q := range queries() {
		page, err := m.List(t.Context(), q.Query)
		require.NoError(t, err)
		got := []string{}
		for _, h := range page.Heads {
			got = append(got, h.Key.String())
		}
		want := strings.Fields(q.want)
		slices.Sort(got)
		slices.Sort(want)
		require.Equal(t, want, got, "%+v", q.Query)
	}
}
