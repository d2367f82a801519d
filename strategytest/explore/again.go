package explore

import (
	"math/rand/v2"
	"slices"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// way is a mode of walking a path again. Each mode can show a mistake of a strategy.
type way uint8

const (
	plain     way = iota
	scribbled     // the spare capacity of slices that the strategy returned is overwritten
	closely       // every record is encoded as JSON and decoded; a stand-in checks the arguments and results of methods
	restored      // a strategy that was restored from a snapshot takes its place
)

// again walks to a node once more, and checks that the strategy decides as it did the first time.
func (x *exploration) again(at int32, path []choice, as way) bool {
	gone := !x.to(path, as)
	x.run.as = plain
	problem := "the second time its path cannot be walked"
	if !gone {
		problem = x.differs(nil, x.nodes[at].steps)
	}
	if problem != "" {
		x.violate(x.lawOf(as, path, x.nodes[at].steps), path, problem)
	}
	return problem == ""
}

// scribble overwrites the spare capacity of the slices of a step. If the strategy still uses this
// capacity, its next step differs.
func scribble(step nextstep.NextStep) {
	switch s := step.(type) {
	case nextstep.GetChatCompletion:
		fill(s.Request.Messages, messages.Message(messages.User{Content: []messages.UserContent{messages.Text{Text: "scribbled"}}}))
		fill(s.Request.Tools, tools.Definition{Name: "scribbled"})
	case nextstep.Delegate:
		fill(s.Input.Messages, messages.Message(messages.User{Content: []messages.UserContent{messages.Text{Text: "scribbled"}}}))
		fill(s.Tools, "scribbled")
	case nextstep.ExecuteTools:
		fill(s.Calls, messages.ToolCall{Name: "scribbled"})
	}
}

// fill fills the spare capacity of a slice.
func fill[S ~[]E, E any](list S, with E) {
	spare := list[len(list):cap(list)]
	for i := range spare {
		spare[i] = with
	}
}

// The longer walks.
const (
	wanders    = 8
	wanderSize = 12

	mostHabits = 128
	habitSize  = 16 // reactions after the path on which the habit was taken
)

// wander makes some longer walks with strategies that are restored before each reaction. Some take
// random reactions, with fixed seeds; others repeat the same reaction in the same states.
func (x *exploration) wander() {
	for seed := range uint64(wanders) {
		chance := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same walks each time
		x.walkOff(wanderSize, func(_ int, choices []choice) choice { return choices[chance.IntN(len(choices))] })
	}
	for _, path := range x.nearer.habits {
		x.walkOff(len(path)+habitSize, x.habit(path))
	}
	x.run.as = plain
}

// habit continues a path with the same reaction each time that the strategies are in the same
// states. A counter that a snapshot lacks shows only after many equal reactions.
func (x *exploration) habit(path []choice) func(i int, choices []choice) choice {
	habits := map[string]string{} // the name of the last reaction, by the strategies and their states
	return func(i int, choices []choice) choice {
		signature := x.run.signature()
		var c choice
		if i < len(path) {
			c = path[i]
		} else {
			at := slices.IndexFunc(choices, func(c choice) bool { return x.reaction(c).Name == habits[signature] })
			if at < 0 {
				at = slices.IndexFunc(choices, func(c choice) bool { return !x.reaction(c).Odd })
			}
			c = choices[max(0, at)]
		}
		if r := x.reaction(c); r != nil {
			habits[signature] = r.Name
		}
		return c
	}
}

// walkOff makes a walk of at most so many reactions. It does nothing if a law is already broken.
func (x *exploration) walkOff(most int, pick func(i int, choices []choice) choice) {
	if len(x.report.Violations) > 0 || len(x.nodes) == 0 {
		return
	}
	path, sums, steps := x.walkBy(most, pick)
	if problem := changed(steps); problem != "" {
		x.violate(lawKept, path, problem)
	}
	if law, problem, after := x.follow(path, sums); law != "" {
		x.violate(law, path[:after], problem)
	}
}

// walkBy makes a walk of picked reactions. It returns the path, the checksum after each reaction,
// and all steps.
func (x *exploration) walkBy(most int, pick func(i int, choices []choice) choice) (path []choice, sums []uint32, steps []form) {
	if !x.to(nil, closely) {
		return nil, nil, nil
	}
	for !x.run.m.Done() && len(path) < most && (x.Depth == 0 || len(path) < x.Depth) {
		choices := x.choices()
		if len(choices) == 0 {
			break
		}
		steps = append(steps, x.run.forms()...)
		c := pick(len(path), choices)
		if x.run.react(x.reaction(c), c) != nil || !x.holds(append(slices.Clip(path), c)) {
			break
		}
		sum, _ := x.run.checksum()
		path, sums = append(path, c), append(sums, sum)
	}
	return path, sums, steps
}

// follow walks along a path with strategies that are restored before each reaction. It returns the
// law that this breaks, the problem, and the number of reactions before it; "" if it breaks none.
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
			problem = x.run.whatIsLost() + "restored before each reaction, it asks for " + x.run.pending()
			return x.lawOf(restored, path[:i+1], sums[i]), problem, i + 1
		}
	}
	return "", "", 0
}
