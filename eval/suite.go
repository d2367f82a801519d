package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/messages"
)

// Suite is an evaluation: each case is tried with each variant, Repeat times. Its fields are not
// changed while it runs.
type Suite struct {
	Name     string
	Cases    []Case
	Variants []Variant // the first is what the others are compared with
	Repeat   int       // trials of a case with a variant; 0: 1
	Parallel int       // most trials at once; 0: 4

	// MaxCost ends the evaluation once its trials have cost as much; 0: no limit. Trials in
	// progress go on. For a limit of requests, wrap the client of the agent by llmclient.RateLimit.
	MaxCost messages.Cost

	Store   checkpoint.Store // of the runs of all trials; nil: that of the agent, if any
	Judge   *Judge           // of cases that have a criterion
	Scorers []Scorer         // of every trial, besides what its case expects

	// Observe is told of each trial as it ends, one after the other; nil: nobody is.
	Observe func(Trial, Progress)
}

// Progress says how far an evaluation is, with what its results had before.
type Progress struct {
	Done   int           `json:"done"`
	All    int           `json:"all"`
	Passed int           `json:"passed"`
	Cost   messages.Cost `json:"cost"` // in millionths of a dollar, with that of the judge
}

// ErrCost is what ends an evaluation that has cost as much as it may. The report has what was done.
var ErrCost = errors.New("eval: the evaluation has cost as much as it may: go on with a higher MaxCost")

// Run makes the trials that the results do not have yet, and returns the report of all. results
// keeps each trial as it ends, so that an evaluation that was cut off goes on where it was; nil
// keeps none.
//
// Repetitions come one after the other, so that what is there of an evaluation that was cut off
// tells of all cases. If ctx ends, trials in progress are given up, and Run returns the cause with
// a report of what was done. So it is with other errors: of a case or variant that cannot be used,
// a scorer, the results, [ErrCost].
func (s *Suite) Run(ctx context.Context, results *Results) (*Report, error) {
	cases, err := s.check()
	if err != nil {
		return nil, err
	}
	e := evaluation{suite: s, results: results, report: newReport(s, s.digest(cases))}
	ctx, e.cancel = context.WithCancelCause(ctx)
	defer e.cancel(nil)
	if err := e.begin(cases); err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	jobs := make(chan job)
	for range workers(s.Parallel) {
		group.Go(func() {
			for j := range jobs {
				e.do(ctx, j)
			}
		})
	}
	for j := range e.jobs(cases) {
		if ctx.Err() != nil || e.full() {
			break
		}
		jobs <- j
	}
	close(jobs)
	group.Wait()
	if e.left && ctx.Err() == nil {
		return e.report, ErrCost
	}
	return e.report, context.Cause(ctx)
}

// Digest identifies the trials of the suite, by its cases, the Setups of its variants, and Repeat.
func (s *Suite) Digest() (string, error) {
	cases, err := s.check()
	if err != nil {
		return "", err
	}
	return s.digest(cases), nil
}

func (s *Suite) digest(cases []*checked) string {
	text := fmt.Appendln(nil, s.Name, s.Repeat)
	for _, c := range cases {
		text = fmt.Appendln(text, c.digest)
	}
	for _, v := range s.Variants {
		text = fmt.Appendln(text, v.Name, v.Setup)
	}
	return digest(text)
}

func workers(n int) int {
	if n <= 0 {
		return 4
	}
	return n
}

// check checks what can be known before the first trial.
func (s *Suite) check() ([]*checked, error) {
	var problems []error
	named := map[string]bool{}
	cases := make([]*checked, 0, len(s.Cases))
	for _, c := range s.Cases {
		k, err := check(c)
		if err == nil && named[c.Name] {
			err = fmt.Errorf("eval: two cases have the name %q", c.Name)
		}
		if err == nil && c.Judge != "" && s.Judge == nil {
			err = fmt.Errorf("eval: case %q has a criterion for a judge, and the suite has no Judge", c.Name)
		}
		named[c.Name] = true
		problems = append(problems, err)
		cases = append(cases, k)
	}
	if len(s.Cases) == 0 {
		problems = append(problems, errors.New("eval: the suite has no cases"))
	}
	if len(s.Variants) == 0 {
		problems = append(problems, errors.New("eval: the suite has no variants"))
	}
	clear(named)
	for _, v := range s.Variants {
		if named[v.Name] {
			problems = append(problems, fmt.Errorf("eval: two variants have the name %q", v.Name))
		}
		if v.Agent == nil {
			problems = append(problems, fmt.Errorf("eval: variant %q has no Agent", v.Name))
		}
		named[v.Name] = true
	}
	return cases, errors.Join(problems...)
}

// evaluation is what happens while a suite runs.
type evaluation struct {
	suite   *Suite
	results *Results
	cancel  context.CancelCauseFunc

	mu     sync.Mutex // guards what follows, and the results
	report *Report
	done   map[place]bool
	at     Progress
	left   bool // a trial was left out, for its cost
}

// place identifies a trial; job is one to make.
type place struct {
	variant, name, of, setup string
	n                        int
}

type job struct {
	variant *Variant
	c       *checked
	n       int
}

// begin takes up what the results have of this evaluation.
func (e *evaluation) begin(cases []*checked) error {
	e.done = map[place]bool{}
	e.at.All = e.report.Planned
	wanted := map[place]bool{}
	for j := range e.jobs(cases) {
		wanted[j.place()] = true
	}
	return e.results.begin(e.suite, e.report.Of, func(t *Trial) {
		at := place{t.Variant, t.Case, t.Of, t.Setup, t.N}
		if wanted[at] && !t.Broken && !e.done[at] {
			e.done[at] = true
			e.add(t)
		}
	})
}

func (j *job) place() place {
	return place{j.variant.Name, j.c.Name, j.c.digest, digest([]byte(j.variant.Setup)), j.n}
}

// jobs yields the trials that are not done.
func (e *evaluation) jobs(cases []*checked) func(func(job) bool) {
	return func(yield func(job) bool) {
		for n := 1; n <= max(e.suite.Repeat, 1); n++ {
			for _, c := range cases {
				for i := range e.suite.Variants {
					j := job{&e.suite.Variants[i], c, n}
					if !e.done[j.place()] && !yield(j) {
						return
					}
				}
			}
		}
	}
}

// do makes a trial, and keeps it.
func (e *evaluation) do(ctx context.Context, j job) {
	if ctx.Err() != nil || e.full() {
		return
	}
	t, err := e.suite.try(ctx, j.variant, j.c, j.n)
	if err != nil {
		e.cancel(err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.results.add(&t); err != nil {
		e.cancel(err)
		return
	}
	e.add(&t)
	if e.suite.Observe != nil {
		e.suite.Observe(t, e.at)
	}
}

// full reports whether the trials have cost so much that one is left out.
func (e *evaluation) full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = e.left || e.suite.MaxCost > 0 && e.at.Cost >= e.suite.MaxCost
	return e.left
}

// add counts a trial.
func (e *evaluation) add(t *Trial) {
	e.report.add(t)
	e.at.Done++
	if t.Passed {
		e.at.Passed++
	}
	e.at.Cost = e.at.Cost.Add(t.Cost).Add(t.JudgeCost)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
