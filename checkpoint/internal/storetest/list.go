package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

// Question is a query, and how many runs its first page has.
type Question struct {
	Query checkpoint.Query
	Want  int
}

// Waiting is the header of each of the runs that [Questions] are asked about.
func Waiting() *checkpoint.Header {
	return &checkpoint.Header{
		Status: checkpoint.StatusWaiting, Strategy: "complete_task", Format: 2, Version: "v0.3.0",
		Waits: []checkpoint.Wait{{ID: "1", Kind: "approval"}}, Labels: map[string]string{"team": "red"},
	}
}

// Questions are asked about n waiting runs, numbered from one on. Each was created so many seconds
// after a time, and is due an hour later. Those with an even number are leased, every thousandth
// has the label rare, and one of 500, of an odd number, has a message.
func Questions(begin time.Time, n int) map[string]Question {
	type q = checkpoint.Query
	status := []checkpoint.Status{checkpoint.StatusWaiting}
	red := map[string]string{"team": "red"}
	at := func(i int) time.Time { return begin.Add(time.Duration(i) * time.Second) }
	deep := checkpoint.Cursor{Created: at(n / 2), Key: Key("x")}
	return map[string]Question{
		"all":                   {q{}, 100},
		"every namespace":       {q{All: true, Limit: 1000}, 1000},
		"status":                {q{Status: status}, 100},
		"status everywhere":     {q{Status: status, All: true}, 100},
		"two statuses":          {q{Status: append(status, checkpoint.StatusRunning)}, 100},
		"none of a status":      {q{Status: []checkpoint.Status{checkpoint.StatusDone}, Labels: red}, 0},
		"no such namespace":     {q{Namespace: "n", Status: status, Labels: red}, 0},
		"label":                 {q{Status: status, Labels: red}, 100},
		"rare label":            {q{Status: status, Labels: map[string]string{"team": "red", "rare": "yes"}}, min(n/1000, 100)},
		"no such label":         {q{Status: status, Labels: map[string]string{"team": "blue"}}, 0},
		"wait":                  {q{Status: status, Wait: "approval"}, 100},
		"strategy":              {q{Strategy: "complete_task", Wait: "approval"}, 100},
		"few are due":           {q{Status: status, Due: at(3600 + 50)}, 50},
		"all are due":           {q{Status: status, Due: at(3600 + n)}, 100},
		"unleased":              {q{Status: status, Unleased: true}, 100},
		"due and unleased":      {q{Status: status, All: true, Unleased: true, Due: at(3600 + 100)}, 50},
		"posted":                {q{Status: status, Posted: true}, min(n/500, 100)},
		"posted, all, unleased": {q{Status: status, All: true, Posted: true, Unleased: true}, min(n/500, 100)},
		"long since":            {q{Status: status, Updated: at(51)}, 50},
		"deep in the list":      {q{Status: status, After: deep}, 100},
		"deep, everywhere":      {q{All: true, After: deep}, 100},
	}
}

// List asks each question, and has check look at how the answer is found.
func List(t *testing.T, s checkpoint.Lister, questions map[string]Question, check func(*testing.T, Question)) {
	t.Helper()
	for name, c := range questions {
		t.Run(name, func(t *testing.T) {
			page, err := s.List(t.Context(), c.Query)
			require.NoError(t, err)
			require.Len(t, page.Heads, c.Want)
			require.True(t, slices.IsSortedFunc(page.Heads, func(a, b checkpoint.Head) int { return b.Created.Compare(a.Created) }))
			check(t, c)
		})
	}
}

// BenchmarkList measures the first page of each question.
func BenchmarkList(b *testing.B, s checkpoint.Lister, questions map[string]Question) {
	b.Helper()
	took := map[string][]float64{} // milliseconds
	for b.Loop() {
		for name, c := range questions {
			began := time.Now()
			page, err := s.List(b.Context(), c.Query)
			took[name] = append(took[name], float64(time.Since(began))/1e6)
			require.NoError(b, err)
			require.Len(b, page.Heads, c.Want)
		}
	}
	var pages []float64
	for _, list := range took {
		pages = append(pages, median(list))
	}
	b.ReportMetric(slices.Min(pages), "fastest-ms/page")
	b.ReportMetric(slices.Max(pages), "slowest-ms/page")
}
