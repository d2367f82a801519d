package eval

import (
	"errors"
	"math"
)

// Allowed says by how much an evaluation may be worse than another, by the names of measures:
// "pass" in its rate, such as 0.05; "tokens", "cost", "seconds" and "steps" as a part of what it
// was, such as 0.2. A measure that is not named may be as much worse as it likes, but "pass", of
// which nothing is allowed then.
type Allowed map[string]float64

// Change compares a measure of a variant in two evaluations, over the cases that both have tried.
type Change struct {
	Variant string  `json:"variant"`
	Against string  `json:"against"` // the variant of the old evaluation
	Measure string  `json:"measure"` // "pass", "tokens", "cost", "seconds", "steps"
	Old     float64 `json:"old"`     // the mean of a trial
	New     float64 `json:"new"`
	P       float64 `json:"p"` // the probability of a difference at least as large, if there is none

	Verdict Verdict `json:"verdict"`
	Beyond  bool    `json:"beyond,omitempty"` // worse than allowed
}

// Verdict says what a comparison has found. A difference counts if its P is less than 0.05.
type Verdict string

// The verdicts.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	Same   Verdict = "no difference"
)

// significant is the P below which a difference counts.
const significant = 0.05

// Compare compares a variant of an evaluation with one of an older one. Whether passes differ is
// tested exactly, with the cases as strata (Mantel and Haenszel); means of the other measures by
// Fisher's test of pairs of cases. A measure that is 0 everywhere is left out. There is an error if
// the two have no case in common that is the same in both.
func Compare(old, today *VariantReport, allowed Allowed) ([]Change, error) {
	before := map[string]*CaseReport{}
	for _, c := range old.Cases {
		before[c.Name+" "+c.Of] = c
	}
	var pairs [][2]*CaseReport
	for _, c := range today.Cases {
		if was := before[c.Name+" "+c.Of]; was != nil {
			pairs = append(pairs, [2]*CaseReport{was, c})
		}
	}
	if len(pairs) == 0 {
		return nil, errors.New("eval: the two evaluations have no case in common: nothing can be compared")
	}
	var all []Change
	for _, m := range measures {
		c := Change{Variant: today.Name, Against: old.Name, Measure: m.name, Verdict: Same}
		differences := make([]float64, len(pairs))
		for i, p := range pairs {
			was, is := m.of(p[0])/float64(p[0].Trials), m.of(p[1])/float64(p[1].Trials)
			c.Old += was / float64(len(pairs))
			c.New += is / float64(len(pairs))
			differences[i] = is - was
		}
		if m.name == "pass" {
			c.P = sameRates(strata(pairs))
		} else {
			c.P = sameMeans(differences)
		}
		c.judge(m.name == "pass", allowed)
		if c.Old != 0 || c.New != 0 || m.name == "pass" {
			all = append(all, c)
		}
	}
	return all, nil
}

var measures = []struct {
	name string
	of   func(*CaseReport) float64
}{
	{"pass", func(c *CaseReport) float64 { return float64(c.Passed) }},
	{"tokens", func(c *CaseReport) float64 { return float64(c.Tokens) }},
	{"cost", func(c *CaseReport) float64 { return float64(c.Cost) }},
	{"seconds", func(c *CaseReport) float64 { return c.Seconds }},
	{"steps", func(c *CaseReport) float64 { return float64(c.Steps) }},
}

func strata(pairs [][2]*CaseReport) []stratum {
	all := make([]stratum, len(pairs))
	for i, p := range pairs {
		all[i] = stratum{p[0].Trials, p[0].Passed, p[1].Trials, p[1].Passed}
	}
	return all
}

// judge says whether it is better or worse, and whether it may be. more says that more is better.
func (c *Change) judge(more bool, allowed Allowed) {
	if c.P >= significant || c.Old == c.New {
		return
	}
	c.Verdict = Worse
	if (c.New > c.Old) == more {
		c.Verdict = Better
		return
	}
	may, named := allowed[c.Measure]
	by := math.Abs(c.New - c.Old)
	if !more {
		by /= c.Old
	}
	c.Beyond = (named || c.Measure == "pass") && by > may
}
