package explore

import (
	"math/rand/v2"
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// way is a mode of walking a path again. Each mode can show a mistake of a strategy.
type way uint8

const (
	plain     way = iota
	decoded       // every record is encoded as JSON and decoded
	scribbled     // the spare capacity of slices that the strategy returned is overwritten
	closely       // like decoded; a stand-in also checks the arguments and results of methods
	restored      // a strategy that was restored from a snapshot takes its place
)

// again walks to a node once more, and checks that the strategy decides as it did the first time.
func (x *exploration) again(at int32, path []choice, as way) bool {
	err := x.walkAs(as, path)
	sum := x.nodes[at].steps
	if err == nil && as != plain {
		sum, _ = x.run.checksum()
	}
	switch {
	case err != nil:
		x.violate(x.lawOf(as, path, x.nodes[at].steps), path, "the second time: "+err.Error())
	case sum != x.nodes[at].steps:
		asks := x.run.pending()
		x.violate(x.lawOf(as, path, x.nodes[at].steps), path, "the second time it asks for "+asks+", and not exactly as the first time")
	default:
		return true
	}
	return false
}

// walkAs walks along a path in the given way.
func (x *exploration) walkAs(as way, path []choice) error {
	x.run.as = as
	defer func() { x.run.as = plain }()
	if as == decoded {
		x.run.journal.along(path)
		defer func() { x.run.journal.known = 0 }()
	}
	if err := x.run.start(&x.config, x.task); err != nil {
		return err
	}
	if as == decoded {
		x.taken = x.taken[:0]
	}
	for i, c := range path {
		if as == decoded {
			x.run.journal.reacted(i)
			x.taken = append(x.taken, x.take(c))
		}
		r := x.taken[i].reaction
		if !x.run.fits(c, x.taken[i].kind) {
			r = nil
		}
		if err := x.run.react(r, c); err != nil {
			return err
		}
	}
	if as == decoded {
		x.run.journal.reacted(len(path))
	}
	return nil
}

// onPath is the reaction of a choice, kept for later walks along the same path.
type onPath struct {
	reaction *Reaction
	kind     machine.EffectKind // of its effect; "" for the whole run
}

// take returns the reaction of a choice in the current state of the walk.
func (x *exploration) take(c choice) onPath {
	t := onPath{reaction: x.reaction(c)}
	if t.reaction != nil && c.effect != whole {
		t.kind = x.run.open[c.effect].Kind
	}
	return t
}

// journal holds the records of the last decoded walk. The next such walk often begins with the same
// reactions, and so with the same records, which are then not decoded again.
type journal struct {
	path    []choice
	records []machine.Record // as they were read
	ends    []int            // how many of them there are after the first one, and after each reaction
	known   int              // how many the walk that has begun has in common with the last one
	next    int              // the record that is due

	forms map[string]machine.Record // records by their JSON forms
	size  int                       // of the forms, in bytes
	text  []byte
}

// mostForms is how many bytes of JSON are kept with their records.
const mostForms = 1 << 22

// along begins a walk along a path. Without it, a walk reads every record.
func (j *journal) along(path []choice) {
	same := 0
	for same < len(path) && same < len(j.path) && path[same] == j.path[same] {
		same++
	}
	if same < len(j.ends) {
		j.ends = j.ends[:same+1]
		j.known = j.ends[same]
	} else {
		j.ends, j.known = j.ends[:0], 0
	}
	j.path = append(j.path[:0], path...)
}

// reacted notes that the records of the first step, or of the next reaction, are complete.
func (j *journal) reacted(reactions int) {
	if len(j.ends) == reactions {
		j.ends = append(j.ends, j.next)
	}
}

// begin begins a walk. If it has no record in common with the last one, nothing is known of that
// one any more.
func (j *journal) begin() {
	j.next = 0
	if j.known == 0 {
		j.path, j.ends = j.path[:0], j.ends[:0]
	}
}

// read returns a record as it is read from its JSON form.
func (j *journal) read(rec machine.Record) (machine.Record, error) {
	if j.next < j.known {
		j.next++
		return j.records[j.next-1], nil
	}
	text, err := machine.AppendRecord(j.text[:0], rec)
	if err != nil {
		return nil, err
	}
	j.text = text
	rec, known := j.forms[string(text)]
	if !known {
		if rec, err = machine.ReadRecord(text); err != nil {
			return nil, err
		}
		j.keep(text, rec)
	}
	j.records = append(j.records[:j.next], rec)
	j.next++
	return rec, nil
}

// keep stores the decoded record of a JSON form: many states differ in few records.
func (j *journal) keep(text []byte, rec machine.Record) {
	if j.size += len(text); j.forms == nil || j.size > mostForms {
		j.forms, j.size = map[string]machine.Record{}, len(text)
	}
	j.forms[string(text)] = rec
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
