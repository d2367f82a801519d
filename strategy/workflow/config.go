package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/internal/verdict"
)

// The usual names of the compositions in a strategy.Set.
const (
	NameSequence = "sequence"
	NameParallel = "parallel"
	NameLoop     = "loop"
	NameChoose   = "choose"
)

// SequenceConfig configures parts that work one after the other. By default each is told the goal
// and the results of those before it. The zero SequenceConfig has one part, as the other Configs
// have.
type SequenceConfig struct {
	Parts []Part `json:"parts,omitempty"`
}

// ParallelConfig configures parts that work at the same time, each on the goal of the composition.
// Retries and Fallbacks begin when all have ended. Each start of a part counts as a call of a tool:
// the strategy brings a tool for each, such as "run_critic", which no model is offered.
type ParallelConfig struct {
	Parts []Part `json:"parts,omitempty"`

	// Reduce makes one result of the results; its default Name is "reduce". Nil joins them: the
	// text has each below the name of its part, and the data is an object with each by that name.
	Reduce *Part `json:"reduce,omitempty"`
}

// LoopConfig configures a part that works again and again, until the result is good. Without Until
// and a Judge it works MaxRounds times. With one, a loop whose rounds are used up fails with the
// code limit, and its output has the last result.
type LoopConfig struct {
	Part Part `json:"part,omitzero"`

	// Until reports whether the result is good. It must be pure, and needs a name, which is that of
	// a transition other than those that every composition has: a stored run is not resumed with
	// a function of another name.
	Until     func(Progress) bool `json:"-"`
	UntilName string              `json:"-"`

	// Judge judges results that Until, if there is one, has not found good; its default Name is
	// "judge". Its text is read as reflection.Approved says, and what is not approved is told to
	// the part as Feedback. A judge that fails with FailureContinue has not approved.
	Judge *Part `json:"judge,omitempty"`

	MaxRounds int `json:"max_rounds,omitempty"` // 0 means 3, negative is an error
}

// ChooseConfig configures parts of which one does the work, with the input of the composition.
type ChooseConfig struct {
	Parts []Part `json:"parts,omitempty"`

	// Route returns the name of a part. It must be pure, and needs a name, as the Until of a
	// LoopConfig. Nil means that the Router chooses.
	Route     func(Progress) string `json:"-"`
	RouteName string                `json:"-"`

	// Router chooses a part: its text is the name, or has the name of no other part, or its data
	// are {"choice": name}. Any other answer is a failure. Its default Name is "router".
	Router *Part `json:"router,omitempty"`

	// Otherwise is the part that is chosen if Route or the Router names none, or the Router fails;
	// "" means that the composition fails, unless there is but one part.
	Otherwise string `json:"otherwise,omitempty"`
}

const (
	promptGoal = `{{.Goal}}` + promptFailure

	promptFailure = `{{with .Failure}}

An earlier attempt at this failed: {{.}}
Try again, and avoid what made it fail.{{end}}`

	promptResults = `{{range .Results}}{{if or .Text .Err}}

{{.Part}}{{with .Err}} failed: {{.Message}}{{end}}:
{{.Text}}{{end}}{{end}}`

	promptSequence = `{{.Goal}}` + promptResults + promptFailure

	promptReduce = `{{.Goal}}

Several have worked on this. Make one answer of theirs.` + promptResults + promptFailure

	promptBody = `{{.Goal}}{{with .Last}}

This is what there is so far:

{{.}}{{end}}{{with .Feedback}}

A reviewer says about it:

{{.}}

Do the task again, with this mended. Reply with the result and nothing else.{{end}}` + promptFailure

	promptJudge = `The task is: {{.Goal}}

This was done:

{{.Last}}

Judge it as a strict reviewer. If nothing has to change, reply with the one word APPROVED. Otherwise say what has to change. Do not do the task.` + promptFailure

	promptRouter = `Choose who does this task:

{{.Goal}}

The choices are:
{{range .Choices}}- {{.Name}}{{with .Description}}: {{.}}{{end}}
{{end}}
Reply with the name of one of them, and nothing else. Do not do the task.` + promptFailure
)

// Sequence returns a factory for strategy.Set. An invalid Config is reported when the strategy is
// first used, by orchestrator.New or in a machine.Machine; so it is for the other compositions.
func Sequence(cfg SequenceConfig) func() strategy.Strategy {
	b := &settings{kind: NameSequence, result: lastResult}
	parts := b.addAll(cfg.Parts, promptSequence)
	for _, p := range parts {
		b.add(p)
	}
	b.rule(frame.In(frame.Ready), started, parts[0].state)
	for i, p := range parts[1:] {
		b.rule(parts[i].ends(), passed, p.state)
	}
	b.rule(parts[len(parts)-1].ends(), finished, frame.Done)
	b.first = func(s *flow) nextstep.NextStep { return s.begin(started, parts[0], "") }
	b.next = func(s *flow, p *part) nextstep.NextStep {
		if i := slices.Index(parts, p) + 1; i < len(parts) {
			return s.begin(passed, parts[i], "")
		}
		return s.finish(finished)
	}
	return b.factory()
}

// Parallel returns a factory for strategy.Set.
func Parallel(cfg ParallelConfig) func() strategy.Strategy {
	b := &settings{kind: NameParallel, result: joined}
	b.together = b.addAll(cfg.Parts, promptGoal)
	b.addStages()
	ends := b.stages
	b.rule(frame.In(frame.Ready), started, working)
	if cfg.Reduce != nil {
		b.reducer = b.addNamed(*cfg.Reduce, "reduce", promptReduce)
		b.add(b.reducer)
		b.rule(ends, reduced, b.reducer.state)
		ends = b.reducer.ends()
	}
	b.rule(ends, finished, frame.Done)
	b.first = func(s *flow) nextstep.NextStep {
		s.tried = make([]Result, len(b.together))
		numbers := make([]int, len(b.together))
		for i := range numbers {
			numbers[i] = i
		}
		return s.stage(started, numbers)
	}
	b.next = func(s *flow, p *part) nextstep.NextStep {
		if _, _, some := joined(s); p == nil && some && b.reducer != nil {
			return s.begin(reduced, b.reducer, "")
		}
		return s.finish(finished)
	}
	return b.factory()
}

// Loop returns a factory for strategy.Set.
func Loop(cfg LoopConfig) func() strategy.Strategy {
	b := &settings{kind: NameLoop, result: lastResult}
	rounds := cmp.Or(cfg.MaxRounds, 3)
	if rounds < 0 {
		b.report(errors.New("workflow: MaxRounds is negative: a loop must have a bound"))
	}
	b.body = b.addNamed(cfg.Part, cfg.Part.Name, promptBody)
	b.add(b.body)
	b.caps(capRounds, max(0, rounds-1))
	b.rule(frame.In(frame.Ready), started, b.body.state)
	good := b.function("Until", cfg.Until != nil, cfg.UntilName)
	if good != "" {
		b.rule(b.body.ends(), good, frame.Done)
	}
	var judge *part
	if cfg.Judge == nil || b.body.OnFailure == FailureContinue {
		b.capped(b.body.ends(), repeated, b.body.state, capRounds)
	}
	if cfg.Judge != nil {
		judge = b.addNamed(*cfg.Judge, "judge", promptJudge)
		judge.control = true
		b.add(judge)
		b.rule(b.body.ends(), submitted, judge.state)
		b.capped(judge.ends(), rejected, b.body.state, capRounds)
		b.rule(judge.ends(), finished, frame.Done)
		b.rule(judge.ends(), exhausted, frame.Limited)
	}
	switch {
	case good == "" && judge == nil:
		b.rule(b.body.ends(), finished, frame.Done)
	case judge == nil || b.body.OnFailure == FailureContinue:
		b.rule(b.body.ends(), exhausted, frame.Limited)
	}
	b.first = func(s *flow) nextstep.NextStep { return s.begin(started, b.body, "") }
	b.next = func(s *flow, p *part) nextstep.NextStep {
		last := s.results[len(s.results)-1]
		switch {
		case p == judge:
			return s.afterJudge(last)
		case last.Err != nil:
			return s.again(repeated, good == "" && judge == nil)
		}
		if good != "" {
			is, err := guarded("Until", func() bool { return cfg.Until(s.progress(nil, "")) })
			if err != nil {
				return s.invalid(err)
			}
			if is {
				return s.finish(good)
			}
		}
		if judge != nil {
			return s.begin(submitted, judge, "")
		}
		return s.again(repeated, good == "")
	}
	return b.factory()
}

// afterJudge ends the loop, or begins the next round.
func (s *flow) afterJudge(said Result) nextstep.NextStep {
	c := verdict.Of(delegation.Output{Data: said.Data, Result: &said.Text})
	if said.Err == nil && c.Approved {
		return s.finish(finished)
	}
	s.feedback = c.Feedback
	return s.again(rejected, false)
}

// again begins the next round. If none is left it ends: well, if nothing judges the rounds.
func (s *flow) again(on strategy.Trigger, well bool) nextstep.NextStep {
	switch {
	case s.Can(on):
		return s.begin(on, s.body, "")
	case well:
		return s.finish(finished)
	default:
		err := delegation.NewError(delegation.CodeLimit, fmt.Errorf("workflow: the limit of %d rounds is reached, and the result is not good", s.progress(nil, "").Round))
		return s.Then(exhausted, nextstep.ReportError{Err: err, Output: s.reached()})
	}
}

// Choose returns a factory for strategy.Set.
func Choose(cfg ChooseConfig) func() strategy.Strategy {
	b := &settings{kind: NameChoose, result: lastResult}
	parts := b.addAll(cfg.Parts, promptGoal)
	for _, p := range parts {
		b.choices = append(b.choices, p.Part)
	}
	if len(parts) == 1 {
		cfg.Otherwise = cmp.Or(cfg.Otherwise, parts[0].Name)
	}
	by, from := b.function("Route", cfg.Route != nil, cfg.RouteName), frame.In(frame.Ready)
	if cfg.Route == nil {
		b.router = b.addNamed(*cmp.Or(cfg.Router, &Part{}), "router", promptRouter)
		b.router.control, by = true, "chose"
		if cfg.Otherwise != "" {
			b.router.OnFailure = FailureContinue
		}
		b.add(b.router)
		b.rule(from, started, b.router.state)
		from = b.router.ends()
	} else if cfg.Router != nil {
		b.report(errors.New("workflow: Route and Router are both set: set only one"))
	}
	for _, p := range parts {
		b.add(p)
		b.rule(from, by+"_"+strategy.Trigger(p.state), p.state)
		b.rule(p.ends(), finished, frame.Done)
	}
	if cfg.Otherwise != "" && !slices.ContainsFunc(parts, func(p *part) bool { return p.Name == cfg.Otherwise }) {
		b.report(fmt.Errorf("workflow: Otherwise: there is no part %q", cfg.Otherwise))
	}
	take := func(s *flow, name string) nextstep.NextStep {
		p := s.part(cmp.Or(name, cfg.Otherwise))
		if p == nil || p.control {
			return s.invalid(fmt.Errorf("workflow: there is no part %q to choose", name))
		}
		return s.begin(by+"_"+strategy.Trigger(p.state), p, "")
	}
	b.first = func(s *flow) nextstep.NextStep {
		if b.router != nil {
			return s.begin(started, b.router, "")
		}
		name, err := guarded("Route", func() string { return cfg.Route(s.progress(nil, "")) })
		if err != nil {
			return s.invalid(err)
		}
		if s.part(name) == nil && cfg.Otherwise != "" {
			name = ""
		}
		return take(s, name)
	}
	b.next = func(s *flow, p *part) nextstep.NextStep {
		if p == b.router {
			return take(s, s.choice(s.results[len(s.results)-1]))
		}
		return s.finish(finished)
	}
	return b.factory()
}

// choice returns the name of the part that a router has chosen; "" if there is none.
func (s *flow) choice(r Result) string {
	var data struct{ Choice string }
	if r.Err != nil {
		return ""
	}
	text := r.Text
	if json.Unmarshal([]byte(cmp.Or(string(r.Data), r.Text)), &data) == nil && data.Choice != "" {
		text = data.Choice
	}
	isMark := func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' }
	words, found := strings.FieldsFunc(text, isMark), ""
	for _, p := range s.choices {
		isName := func(word string) bool {
			return strings.EqualFold(word, p.Name) || strings.EqualFold(strings.Trim(word, "-_"), p.Name)
		}
		if !slices.ContainsFunc(words, isName) {
			continue
		}
		if found != "" {
			return ""
		}
		found = p.Name
	}
	return found
}

// guarded calls a function of the user.
func guarded[T any](name string, f func() T) (v T, err error) {
	defer guard(name, &err)
	return f(), nil
}
