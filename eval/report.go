package eval

import (
	"math"
	"slices"
)

// Report says how the variants of a suite did. It is not changed once Run has returned it.
type Report struct {
	Suite    string           `json:"suite"`
	Of       string           `json:"of"`      // Suite.Digest
	Planned  int              `json:"planned"` // trials that the whole evaluation has
	Variants []*VariantReport `json:"variants"`
}

// VariantReport says how a variant did.
type VariantReport struct {
	Name  string        `json:"name"`
	Cases []*CaseReport `json:"cases"` // those that were tried

	byName map[string]*CaseReport
}

// CaseReport counts the trials of a case. Sums are over all of them.
type CaseReport struct {
	Name   string           `json:"name"`
	Of     string           `json:"of"` // digest of the case
	Trials int              `json:"trials"`
	Passed int              `json:"passed"`
	Errors int              `json:"errors,omitempty"` // trials whose run did not end as it should
	Broken int              `json:"broken,omitempty"` // of these, those in which the model could not be asked
	Scores map[string]Total `json:"scores,omitempty"` // by name
	Why    string           `json:"why,omitempty"`    // why the last trial that did not pass did not
	Run    string           `json:"run,omitempty"`    // the run of that trial, or else of the last one

	Use
}

// Total is a sum of values, and how many there are.
type Total struct {
	N   int     `json:"n"`
	Sum float64 `json:"sum"`
}

func newReport(s *Suite, of string) *Report {
	r := &Report{Suite: s.Name, Of: of, Planned: len(s.Cases) * len(s.Variants) * max(s.Repeat, 1)}
	for _, v := range s.Variants {
		r.Variants = append(r.Variants, &VariantReport{Name: v.Name})
	}
	return r
}

// Variant returns the report of a variant; nil if there is none of this name.
func (r *Report) Variant(name string) *VariantReport {
	for _, v := range r.Variants {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// Done returns how many trials are done, without those that are made anew.
func (r *Report) Done() (n int) {
	for _, v := range r.Variants {
		sum := v.Sum()
		n += sum.Trials - sum.Broken
	}
	return n
}

// add counts a trial.
func (r *Report) add(t *Trial) {
	v := r.Variant(t.Variant)
	if v == nil {
		v = &VariantReport{Name: t.Variant}
		r.Variants = append(r.Variants, v)
	}
	if v.byName == nil {
		v.byName = map[string]*CaseReport{}
	}
	c := v.byName[t.Case]
	if c == nil {
		c = &CaseReport{Name: t.Case, Of: t.Of}
		v.byName[t.Case] = c
		v.Cases = append(v.Cases, c)
	}
	c.add(t)
}

func (c *CaseReport) add(t *Trial) {
	c.Trials++
	c.Use.add(t.Use)
	why := ""
	for _, s := range t.Scores {
		if c.Scores == nil {
			c.Scores = map[string]Total{}
		}
		sum := c.Scores[s.Name]
		c.Scores[s.Name] = Total{sum.N + 1, sum.Sum + s.Value}
		if s.Value < 1 && why == "" {
			why = s.Name + ": " + s.Why
		}
	}
	if t.Error != "" {
		c.Errors++
		why = t.Error
	}
	if t.Broken {
		c.Broken++
	}
	if t.Passed {
		c.Passed++
	}
	if !t.Passed || c.Run == "" || c.Passed == c.Trials {
		c.Run = t.Run
	}
	if !t.Passed {
		c.Why = why
	}
}

// Passes estimates how often a trial passes.
func (v *VariantReport) Passes() Estimate { return v.PassAll(1) }

// PassAt estimates how often at least one of k trials of a case passes: pass@k. Cases with fewer
// trials do not count.
func (v *VariantReport) PassAt(k int) Estimate { return v.estimate(k, PassAt) }

// PassAll estimates how often all of k trials of a case pass: pass^k. Cases with fewer trials do
// not count.
func (v *VariantReport) PassAll(k int) Estimate { return v.estimate(k, PassAll) }

func (v *VariantReport) estimate(k int, of func(n, c, k int) float64) Estimate {
	values := make([]float64, 0, len(v.Cases))
	trials := 0
	for _, c := range v.Cases {
		if p := of(c.Trials, c.Passed, k); !math.IsNaN(p) {
			values = append(values, p)
			trials = c.Trials / k
		}
	}
	return estimate(values, trials)
}

// Score estimates the mean of a score.
func (v *VariantReport) Score(name string) Estimate {
	var values []float64
	trials := 0
	for _, c := range v.Cases {
		if s := c.Scores[name]; s.N > 0 {
			values = append(values, s.Sum/float64(s.N))
			trials = s.N
		}
	}
	return estimate(values, trials)
}

// Scores returns the names of all scores, sorted.
func (r *Report) Scores() (names []string) {
	for _, v := range r.Variants {
		for _, c := range v.Cases {
			for name := range c.Scores {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Trials returns how many trials at least each case has.
func (v *VariantReport) Trials() int {
	least := 0
	for i, c := range v.Cases {
		if i == 0 || c.Trials < least {
			least = c.Trials
		}
	}
	return least
}

// Sum returns the counts of all cases together.
func (v *VariantReport) Sum() (sum CaseReport) {
	for _, c := range v.Cases {
		sum.Trials += c.Trials
		sum.Passed += c.Passed
		sum.Errors += c.Errors
		sum.Broken += c.Broken
		sum.Use.add(c.Use)
	}
	return sum
}
