package sqlitestore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/waittest"
)

// One that is given the lead just as it gives up hands it on: else nobody would write any more.
func TestQueue_leadIsHandedOn(t *testing.T) {
	var q queue
	jobs := make([]*job, 4)
	for i := range jobs {
		jobs[i] = &job{turn: make(chan bool, 1)}
		require.Equal(t, i > 0, q.join(jobs[i]))
	}
	require.Equal(t, jobs[:1], q.only(jobs[0]))
	q.pass()
	require.True(t, q.leave(jobs[1]))
	require.Len(t, jobs[2].turn, 1)
	require.False(t, waittest.Receive(t, jobs[2].turn))
	require.Equal(t, jobs[2:], q.take())
	require.False(t, q.leave(jobs[3]), "it is on its way")
	q.pass()
	require.False(t, q.led)
	require.False(t, q.join(jobs[0]), "the next one leads")
}

// A transaction takes no more than it should, and what begins one by itself stands alone.
func TestQueue_groups(t *testing.T) {
	var q queue
	sizes := []int{mostBytes, 1, 2, -1, 3}
	for _, bytes := range sizes {
		q.join(&job{bytes: bytes, alone: bytes < 0})
	}
	var groups [][]int
	for len(q.waiting) > 0 {
		var group []int
		for _, j := range q.take() {
			group = append(group, j.bytes)
		}
		groups = append(groups, group)
	}
	require.Equal(t, [][]int{{mostBytes}, {1, 2}, {-1}, {3}}, groups)
	for range mostJobs + 1 {
		q.join(&job{})
	}
	require.Len(t, q.take(), mostJobs)
}
