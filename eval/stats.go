package eval

import (
	"cmp"
	"math"
	"slices"
)

// Estimate is a rate with the bounds of its interval of 95 %: where the rate lies of all cases that
// could stand in the suite, tried as often as one likes.
type Estimate struct {
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// PassAt returns an unbiased estimate of the probability that at least one of k trials passes, if c
// of n have passed: pass@k. It is NaN if k is not from 1 to n. (Chen et al., "Evaluating Large
// Language Models Trained on Code", 2021.)
func PassAt(n, c, k int) float64 { return 1 - PassAll(n, n-c, k) }

// PassAll returns an unbiased estimate of the probability that each of k trials passes, if c of n
// have passed: pass^k. It is NaN if k is not from 1 to n. (Yao et al., "τ-bench", 2024.)
func PassAll(n, c, k int) float64 {
	if k < 1 || k > n || c < 0 || c > n {
		return math.NaN()
	}
	p := 1.0
	for i := range k {
		p *= float64(max(c-i, 0)) / float64(n-i)
	}
	return p
}

// estimate estimates the mean of a rate from its value in each case. Trials of one case are not
// independent of each other, so a case counts once (Miller, "Adding Error Bars to Evals", 2024).
// The interval is that of Wilson for as many independent trials as would have the variance of the
// values, since near 0 and 1 the usual one would be too narrow, with Student's quantile. alone is
// the number of trials if there is one case: then they are all that is known.
func estimate(values []float64, alone int) Estimate {
	n := float64(len(values))
	if n == 0 {
		return Estimate{Low: 0, High: 1}
	}
	mean, square := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	effective, df := n, math.Inf(1)
	if len(values) == 1 {
		effective = float64(max(alone, 1))
	} else if variance := square / (n - 1) / n; variance > 0 {
		effective, df = mean*(1-mean)/variance, n-1
	}
	q := student(df)
	centre := (mean + q*q/(2*effective)) / (1 + q*q/effective)
	half := q / (1 + q*q/effective) * math.Sqrt(mean*(1-mean)/effective+q*q/(4*effective*effective))
	return Estimate{Rate: mean, Low: max(0, centre-half), High: min(1, centre+half)}
}

// student returns the quantile of Student's distribution that 97.5 % are below, by the expansion of
// Cornish and Fisher (Abramowitz and Stegun, 26.7.5); for one degree of freedom it is 12.7.
func student(df float64) float64 {
	const z = 1.959963985
	if df <= 1 {
		return 12.7062
	}
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	return z + (z3+z)/(4*df) + (5*z5+16*z3+3*z)/(96*df*df) + (3*z7+19*z5+17*z3-15*z)/(384*df*df*df)
}

// stratum is a case in two evaluations: how many of the trials have passed in each.
type stratum struct{ oldTrials, oldPassed, newTrials, newPassed int }

// sameRates returns the probability of a difference of the passes at least as large if each case
// passes as often in both: the exact conditional test of Mantel and Haenszel, in which a case is a
// stratum; with one trial a case it is that of McNemar. It has two sides.
func sameRates(all []stratum) float64 {
	distribution, observed := []float64{1}, 0
	mean, variance := 0.0, 0.0
	for _, s := range all {
		total, passed := s.oldTrials+s.newTrials, s.oldPassed+s.newPassed
		if passed == 0 || passed == total || s.oldTrials == 0 || s.newTrials == 0 {
			continue // it says nothing
		}
		n, m := float64(total), float64(passed)
		mean += float64(s.newTrials) * m / n
		variance += float64(s.newTrials) * float64(s.oldTrials) * m * (n - m) / (n * n * (n - 1))
		low := max(0, passed-s.oldTrials)
		observed += s.newPassed - low
		mean -= float64(low)
		if len(distribution) < exactPasses {
			distribution = convolve(distribution, hypergeometric(total, passed, s.newTrials, low))
		}
	}
	if len(distribution) >= exactPasses { // the normal distribution is as good
		return math.Erfc(max(0, math.Abs(float64(observed)-mean)-0.5) / math.Sqrt(2*variance))
	}
	p, limit := 0.0, distribution[observed]*(1+1e-9)
	for _, q := range distribution {
		if q <= limit {
			p += q
		}
	}
	return min(p, 1)
}

// exactPasses is up to how many passes a distribution is computed exactly.
const exactPasses = 2000

// hypergeometric returns the probabilities of low, low+1, … passes in a draw.
func hypergeometric(total, passed, draw, low int) []float64 {
	var all []float64
	for x := low; x <= min(draw, passed); x++ {
		all = append(all, math.Exp(choose(passed, x)+choose(total-passed, draw-x)-choose(total, draw)))
	}
	return all
}

// choose returns the logarithm of the number of ways to choose k of n.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func convolve(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			sum[i+j] += x * y
		}
	}
	return sum
}

// sameMeans returns the probability of a mean of the differences at least as far from 0 if each
// difference might as well have the other sign: Fisher's test of pairs, of which each is a case.
func sameMeans(differences []float64) float64 {
	d := slices.DeleteFunc(slices.Clone(differences), func(x float64) bool { return x == 0 })
	sum, squares := 0.0, 0.0
	for _, x := range d {
		sum += x
		squares += x * x
	}
	switch {
	case len(d) == 0:
		return 1
	case len(d) > exactSigns: // the normal distribution is as good
		return math.Erfc(math.Abs(sum) / math.Sqrt(2*squares))
	}
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(b), math.Abs(a)) })
	far, limit := 0, math.Abs(sum)*(1-1e-9)
	for signs := range 1 << len(d) {
		s := 0.0
		for i, x := range d {
			if signs>>i&1 == 1 {
				x = -x
			}
			s += x
		}
		if math.Abs(s) >= limit {
			far++
		}
	}
	return float64(far) / float64(int(1)<<len(d))
}

// exactSigns is up to how many differences all signs are tried.
const exactSigns = 16
