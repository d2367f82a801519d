package eval

import "context"

// TB is what [Test] needs of a *testing.T.
type TB[T any] interface {
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Helper()
	Run(name string, f func(T)) bool
}

// Test runs a suite in go test, with a subtest for each case of each variant. A subtest fails if
// fewer than the part required of its trials pass, such as 1 for all of them, or 0.8.
func Test[T TB[T]](t T, s Suite, required float64) *Report {
	t.Helper()
	report, err := s.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Variants {
		for _, c := range v.Cases {
			t.Run(v.Name+"/"+c.Name, func(t T) {
				t.Helper()
				if float64(c.Passed) < required*float64(c.Trials) {
					t.Errorf("%d of %d trials passed; of run %s: %s", c.Passed, c.Trials, c.Run, c.Why)
				}
			})
		}
	}
	return report
}
