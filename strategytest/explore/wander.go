package explore

import (
	"math/rand/v2"
	"slices"
)

// The longer walks.
const (
	wanders    = 8
	wanderSize = 12
)

// wander makes some longer walks at random, the same each time, with strategies that are restored
// before each reaction.
func (x *exploration) wander() {
	for seed := uint64(0); seed < wanders && len(x.report.Violations) == 0 && len(x.nodes) > 0; seed++ {
		path, sums, steps := x.wanderOff(rand.New(rand.NewPCG(seed, 1))) //nolint:gosec // the same walks each time
		if problem := changed(steps); problem != "" {
			x.violate(lawKept, path, problem)
		}
		if law, problem, after := x.follow(path, sums); law != "" {
			x.violate(law, path[:after], problem)
		}
	}
	x.run.as = plain
}

// wanderOff walks at random. It returns the path, the checksum after each reaction, and all steps.
func (x *exploration) wanderOff(chance *rand.Rand) (path []choice, sums []uint32, steps []form) {
	if !x.to(nil, closely) {
		return nil, nil, nil
	}
	for !x.run.m.Done() && len(path) < wanderSize && (x.Depth == 0 || len(path) < x.Depth) {
		choices := x.choices()
		if len(choices) == 0 {
			break
		}
		steps = append(steps, x.run.forms()...)
		c := choices[chance.IntN(len(choices))]
		if x.run.react(x.reaction(c), c) != nil || !x.holds(append(slices.Clip(path), c)) {
			break
		}
		sum, _ := x.run.checksum()
		path, sums = append(path, c), append(sums, sum)
	}
	return path, sums, steps
}

// follow walks along a path with strategies that are restored before each reaction. It returns the
// law that this breaks, how, and after how many reactions; "" if it breaks none.
func (x *exploration) follow(path []choice, sums []uint32) (law, problem string, after int) {
	if x.off == lawRestored || !x.to(nil, restored) {
		return "", "", 0
	}
	for i, c := range path {
		x.run.replaceAll()
		if law := x.run.complaint.law; law == lawRestored {
			return law, x.run.complaint.problem, i
		}
		err := x.run.react(x.reactionAt(path, i), c)
		if again, _ := x.run.checksum(); err != nil || again != sums[i] {
			asks := x.run.pending()
			return x.lawOf(restored, path[:i+1], sums[i]), "restored before each reaction, it asks for " + asks, i + 1
		}
	}
	return "", "", 0
}
