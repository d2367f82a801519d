package checkpointtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
)

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

		{"b", q{Due: checkpointtest.DueSoon}},
		{"b d", q{Due: checkpointtest.DueLate.In(elsewhere)}},
		{"", q{Due: checkpointtest.DueSoon.Add(-time.Second)}},
		{"b", q{Due: checkpointtest.DueLate.Add(-time.Second)}},

		{"b", q{Status: status{checkpoint.StatusWaiting, checkpoint.StatusRunning}, Strategy: "react", Wait: "question", Due: checkpointtest.DueLate}},
		{"n/i", q{Namespace: "n", Status: status{checkpoint.StatusWaiting}, Labels: labels{"team": "x"}, Wait: "approval", Due: checkpointtest.DueLate}},
		{"f", q{All: true, Origin: "a", Labels: labels{"team": "x"}, Status: status{checkpoint.StatusDone}}},
		{"", q{Status: status{checkpoint.StatusRunning}, Wait: "approval"}},
	}
}

// The store that all others are compared with finds of the population what each query asks for.
func TestMemory_List(t *testing.T) {
	m := new(checkpoint.Memory)
	for key, header := range checkpointtest.Population() {
		require.NoError(t, m.Append(t.Context(), checkpoint.Batch{Key: key, Records: []checkpoint.Record{{Seq: 1}}, Header: &header}))
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
