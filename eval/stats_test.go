package eval

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/prove"
)

// The estimates are what trying every choice of k trials gives.
func TestPassAt_everyChoice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		c := rapid.IntRange(0, n).Draw(t, "c")
		k := rapid.IntRange(1, n).Draw(t, "k")
		some, every, choices := 0, 0, 0
		for chosen := range 1 << n { // bit i is trial i; the first c have passed
			passed, of := 0, 0
			for i := range n {
				if chosen>>i&1 == 1 {
					of++
					if i < c {
						passed++
					}
				}
			}
			if of != k {
				continue
			}
			choices++
			if passed > 0 {
				some++
			}
			if passed == k {
				every++
			}
		}
		require.InDelta(t, float64(some)/float64(choices), PassAt(n, c, k), 1e-12)
		require.InDelta(t, float64(every)/float64(choices), PassAll(n, c, k), 1e-12)
	})
	require.True(t, math.IsNaN(PassAll(3, 2, 4)))
	require.True(t, math.IsNaN(PassAt(3, 2, 0)))
}

// Coins are thrown: of the intervals of pass^k about 95 % hold p^k, whatever p, k and the numbers
// of cases and trials are, and whether the cases are alike or not.
func TestPassAll_coin(t *testing.T) {
	rounds := prove.CasesOr(500)
	for _, c := range []struct {
		cases, trials, k int
		p                float64
		spread           bool // the p of each case is drawn between 0 and 1, evenly
	}{
		{cases: 12, trials: 5, k: 1, p: 0.5},
		{cases: 12, trials: 5, k: 3, p: 0.8},
		{cases: 12, trials: 5, k: 5, p: 0.9},
		{cases: 100, trials: 1, k: 1, p: 0.97},
		{cases: 100, trials: 5, k: 5, p: 0.95},
		{cases: 100, trials: 5, k: 3, p: 0.3},
		{cases: 1, trials: 20, k: 1, p: 0.7},
		{cases: 3, trials: 10, k: 2, p: 0.6},
		{cases: 12, trials: 1, k: 1, p: 0.9},
		{cases: 3, trials: 5, k: 1, spread: true},
		{cases: 30, trials: 5, k: 5, p: 0.97},
		{cases: 12, trials: 5, k: 1, spread: true},
		{cases: 40, trials: 5, k: 3, spread: true},
		{cases: 400, trials: 3, k: 3, spread: true},
	} {
		random := rand.New(rand.NewPCG(1, uint64(c.cases*100+c.trials*10+c.k)))
		truth := math.Pow(c.p, float64(c.k))
		if c.spread {
			truth = 1 / float64(c.k+1)
		}
		held := 0
		for range rounds {
			v := VariantReport{}
			for range c.cases {
				p := c.p
				if c.spread {
					p = random.Float64()
				}
				one := CaseReport{Trials: c.trials}
				for range c.trials {
					if random.Float64() < p {
						one.Passed++
					}
				}
				v.Cases = append(v.Cases, &one)
			}
			if e := v.PassAll(c.k); e.Low <= truth && truth <= e.High {
				held++
			}
		}
		require.Greater(t, held, rounds*90/100, c)
		require.True(t, held <= rounds*99/100 || c.cases < 10, c) // of few cases little is known
	}
}

// Without a difference the tests find one in at most 5 % of the evaluations.
func TestSame_nothingThere(t *testing.T) {
	const rounds = 2000
	random := rand.New(rand.NewPCG(1, 2))
	rates, means := 0, 0
	for range rounds {
		var all []stratum
		var differences []float64
		for range 12 {
			p, s := random.Float64(), stratum{oldTrials: 5, newTrials: 5}
			for range 5 {
				s.oldPassed += int(one(random.Float64() < p))
				s.newPassed += int(one(random.Float64() < p))
			}
			all = append(all, s)
			differences = append(differences, random.NormFloat64())
		}
		rates += int(one(sameRates(all) < significant))
		means += int(one(sameMeans(differences) < significant))
	}
	require.LessOrEqual(t, rates, rounds*6/100)
	require.LessOrEqual(t, means, rounds*6/100)
}

// With one trial a case the test is that of McNemar: a coin for each case that differs.
func TestSameRates_mcNemar(t *testing.T) {
	var all []stratum
	for range 7 {
		all = append(all, stratum{1, 1, 1, 0})
	}
	all = append(all, stratum{1, 0, 1, 1}, stratum{1, 1, 1, 1}, stratum{3, 2, 0, 0})
	require.InDelta(t, 2*(1.0+8)/256, sameRates(all), 1e-9)
}

// Beyond what is computed exactly the tests agree with what is.
func TestSame_large(t *testing.T) {
	var all []stratum
	for i := range 10_000 {
		all = append(all, stratum{5, 2 + i%3, 5, 3})
	}
	require.InDelta(t, 1, sameRates(all), 0.05)
	for i := range 400 {
		all[i].newPassed = 1
	}
	require.Less(t, sameRates(all), 1e-6)
	d := make([]float64, exactSigns+1)
	for i := range d {
		d[i] = float64(i) - 3
	}
	few := sameMeans(d[:exactSigns])
	require.InDelta(t, few, sameMeans(append(d[:exactSigns:exactSigns], 1e-9)), 0.01)
}

func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{1: 12.706, 2: 4.303, 3: 3.182, 11: 2.201, 100: 1.984, math.Inf(1): 1.960} {
		require.InDelta(t, want, student(df), 0.04*want, df)
	}
}
