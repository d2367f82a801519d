package strategytest_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/coverage"
)

// verdict is a test that only notes what is said of it.
type verdict struct {
	testing.TB
	logs, errors []string
}

func (v *verdict) Helper() {}

func (v *verdict) Logf(format string, args ...any) {
	v.logs = append(v.logs, fmt.Sprintf(format, args...))
}

func (v *verdict) Errorf(format string, args ...any) {
	v.errors = append(v.errors, fmt.Sprintf(format, args...))
}

// covered has all transitions of the table of retry but the last ones, twice.
func covered(but int) *coverage.Coverage {
	c := coverage.New(strategy.Set{"retry": retry.New(retry.Config{}), "complete-task": completetask.New(completetask.Config{})})
	moves := c.Of(retry.Table).Moves
	for _, m := range moves[:len(moves)-but] {
		for range 2 {
			c.Add(machine.Event{Detail: machine.StateChanged{Strategy: "retry", From: m.From, On: m.On, To: m.To}})
		}
	}
	return c
}

func TestRequireCoverage(t *testing.T) {
	run := flag.Lookup("test.run").Value
	chosen := run.String()
	require.NoError(t, run.Set(""))
	t.Cleanup(func() { require.NoError(t, run.Set(chosen)) })
	for name, c := range map[string]struct {
		but    int
		share  float64
		tables []*strategy.Table
		run    string
		want   []string // parts of the failures
	}{
		"all":                    {0, 1, []*strategy.Table{retry.Table}, "", nil},
		"one is missing":         {1, 1, []*strategy.Table{retry.Table}, "", []string{"coverage of retry: 4 of 4 states, 4 of 5 transitions; never taken:\n  attempting -> failed on failed\n"}},
		"enough":                 {1, 0.8, []*strategy.Table{retry.Table}, "", nil},
		"almost enough":          {1, 0.81, []*strategy.Table{retry.Table}, "", []string{"attempting -> failed on failed"}},
		"nothing is asked":       {5, 0, []*strategy.Table{retry.Table}, "", nil},
		"every table of the set": {0, 1, nil, "", []string{"coverage of complete-task: 0 of 8 states"}},
		"a table of nobody":      {0, 1, []*strategy.Table{{Name: "nobody", Initial: "a", States: []strategy.StateRule{{Name: "a"}}, Rules: []strategy.Rule{{From: []strategy.State{"a"}, On: "x", To: "a"}}}}, "", []string{"a -> a on x"}},
		"one story":              {1, 1, []*strategy.Table{retry.Table}, "TestStories/one", nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, run.Set(c.run))
			v := verdict{TB: t}
			strategytest.RequireCoverage(&v, covered(c.but), c.share, c.tables...)
			require.NoError(t, run.Set(""))
			require.Len(t, v.errors, len(c.want))
			for i, part := range c.want {
				require.Contains(t, v.errors[i], part)
			}
			require.NotEmpty(t, v.logs, "what was counted is shown in any case")
		})
	}
	var v verdict
	strategytest.RequireCoverage(&v, coverage.New(strategy.Set{}), 1)
	require.Len(t, v.errors, 1, "nothing is no coverage")

	strays := covered(1)
	strays.Add(machine.Event{Detail: machine.StateChanged{Strategy: "retry", From: "ready", To: "done"}})
	v = verdict{}
	strategytest.RequireCoverage(&v, strays, 1, retry.Table)
	require.Contains(t, strings.Join(v.errors, ""), "taken without a rule of the table: ready -> done without a trigger")
}

// The stories of a strategy and of its children come through both of their tables. A run that
// crashes and is resumed goes through each transition once.
func TestStories_coverage(t *testing.T) {
	c := strategytest.Stories(t, "testdata/coverage", strategy.Set{
		"complete-task": completetask.New(completetask.Config{OnLength: completetask.LengthContinue}),
		"retry":         retry.New(retry.Config{}),
	})
	times := map[string]int64{}
	for _, table := range c.Tables() {
		for _, m := range table.Moves {
			if m.Times > 0 {
				times[table.Table.Name+": "+m.String()] = m.Times
			}
		}
		require.Empty(t, table.Strays)
	}
	require.Equal(t, map[string]int64{
		"complete-task: ready -> awaiting_model on started":           2,
		"complete-task: awaiting_model -> awaiting_tools on called":   1,
		"complete-task: awaiting_tools -> awaiting_model on answered": 1,
		"complete-task: awaiting_model -> awaiting_model on reasked":  1,
		"complete-task: awaiting_model -> done on finished":           2,
		"retry: ready -> attempting on started":                       1,
		"retry: attempting -> done on succeeded":                      1,
	}, times)
}
