package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// Variant is one way to have the cases done: an agent with its model, text format, strategy, prompt
// and limits.
type Variant struct {
	Name string // unique in a suite

	// Agent makes the agent of a trial. The trial gives it the store, and those tools of the case
	// that it does not have. What the tools of the agent change stays within the trial if they are
	// made here. It is called from several goroutines at once.
	Agent func(ctx context.Context, at Place) (*segue.Agent, error)

	Temperature *float64          // of requests that do not set their own; nil: that of the model
	Limits      delegation.Limits // of each trial; zero fields are those of Place.Task

	// Setup identifies what the variant is made of, such as a version of its prompt. An evaluation
	// that goes on makes the trials of another Setup anew.
	Setup string
}

// Place is where a trial takes place.
type Place struct {
	Case   *Case
	Folder string             // with the Files of the case; it is removed once the trial is scored
	Tools  []tools.Tool       // of the case
	Task   *orchestrator.Task // what is run; who makes the agent may change it, such as its Metadata
	Close  func(func())       // has a function called when the trial ends
}

// Trial is one run of a variant on a case, and its scores.
type Trial struct {
	Case    string         `json:"case"`
	Variant string         `json:"variant"`
	N       int            `json:"n"`             // from 1 to Repeat
	Of      string         `json:"of"`            // digest of the case
	Setup   string         `json:"setup"`         // digest of the Setup of the variant
	Run     string         `json:"run,omitempty"` // its id in the store
	Status  machine.Status `json:"status,omitempty"`

	Passed bool    `json:"passed"` // there is no Error, and every score passes
	Scores []Score `json:"scores"`
	Error  string  `json:"error,omitempty"` // why the run did not end as it should

	// Broken says that the model could not be asked, such as for a connection that failed. An
	// evaluation that goes on makes the trial anew.
	Broken bool `json:"broken,omitempty"`

	Answer string `json:"answer,omitempty"` // the first 2,000 bytes

	// Calls are in the order in which they began. A Scorer has all of them; what is kept are the
	// first 100, without Extras, and of their Arguments the first 500 bytes.
	Calls []messages.ToolCall `json:"calls,omitempty"`

	Use
	JudgeCost messages.Cost `json:"judge_cost,omitempty"` // of the Judge, which the Cost of the Use does not have
}

// Use is what one or more trials have used.
type Use struct {
	Tokens     int64         `json:"tokens,omitempty"`
	Cost       messages.Cost `json:"cost,omitempty"`
	Seconds    float64       `json:"seconds,omitempty"`
	Steps      int           `json:"steps,omitempty"`
	ModelCalls int           `json:"model_calls,omitempty"`
	ToolCalls  int           `json:"tool_calls,omitempty"`
}

func (u *Use) add(v Use) {
	u.Tokens += v.Tokens
	u.Cost = u.Cost.Add(v.Cost)
	u.Seconds += v.Seconds
	u.Steps += v.Steps
	u.ModelCalls += v.ModelCalls
	u.ToolCalls += v.ToolCalls
}

// What a Trial keeps of an answer and of calls.
const (
	maxAnswer    = 2000 // also of each reason
	maxCalls     = 100
	maxArguments = 500
)

// Score says how well a trial did in one regard.
type Score struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"` // from 0 to 1, which passes
	Why   string  `json:"why,omitempty"`
}

// Scorer scores a trial once its run has ended. It may read the folder of the trial, and is called
// from several goroutines at once. An error ends the evaluation.
type Scorer func(ctx context.Context, done Done) (Score, error)

// Done is a trial whose run has ended, for a Scorer.
type Done struct {
	Place
	Trial  *Trial
	Answer string // the whole answer
	Output delegation.Output
}

// try makes a trial. An error is one of the evaluation and not of the trial.
func (s *Suite) try(ctx context.Context, v *Variant, k *checked, n int) (Trial, error) {
	t := Trial{Case: k.Name, Variant: v.Name, N: n, Of: k.digest, Setup: digest([]byte(v.Setup)), Scores: []Score{}}
	at, done, err := placeOf(&k.Case)
	defer done()
	if err != nil {
		return t, err
	}
	at.Task = &orchestrator.Task{Input: delegation.Input{Goal: k.Goal, Messages: k.History}, Temperature: v.Temperature}
	o, has, err := s.orchestrator(ctx, v, at)
	if err != nil {
		return t, fmt.Errorf("eval: the agent of variant %q: %w", v.Name, err)
	}
	s.label(at.Task, v, k)
	began := time.Now()
	end, err := t.run(o.Stream(ctx, *at.Task), has)
	if end.Status == machine.StatusWaiting { // nobody answers
		for range o.Resume(ctx, orchestrator.Resumption{Run: t.Run, Stop: over}) { //nolint:errcheck // there may be none
		}
	}
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	t.Seconds = time.Since(began).Seconds()
	t.took(&end, err, &k.Case)
	return t, s.score(ctx, k, Done{Place: at, Trial: &t, Answer: end.Output.Text(), Output: end.Output})
}

// over stops a run.
var over = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// placeOf makes the folder of a trial. done removes it, after what the trial has to close.
func placeOf(c *Case) (at Place, done func(), err error) {
	var closing []func()
	at = Place{Case: c, Close: func(f func()) { closing = append(closing, f) }}
	for _, t := range c.Tools {
		at.Tools = append(at.Tools, t.made())
	}
	at.Folder, err = os.MkdirTemp("", "segue-eval-")
	done = func() {
		for _, f := range slices.Backward(closing) {
			f()
		}
		if at.Folder != "" {
			_ = os.RemoveAll(at.Folder)
		}
	}
	if err != nil {
		return at, done, err
	}
	root, err := os.OpenRoot(at.Folder) // a path of a case cannot lead out of it
	if err != nil {
		return at, done, err
	}
	defer root.Close() //nolint:errcheck // each file is closed by WriteFile
	for path, text := range c.Files {
		path = filepath.FromSlash(path)
		if err = root.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = root.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			return at, done, fmt.Errorf("eval: case %q: files: %w", c.Name, err)
		}
	}
	return at, done, nil
}

// orchestrator makes the orchestrator of a trial. has holds the names of its tools.
func (s *Suite) orchestrator(ctx context.Context, v *Variant, at Place) (o *orchestrator.Orchestrator, has map[string]bool, err error) {
	agent, err := v.Agent(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	if agent == nil {
		return nil, nil, errors.New("it is nil")
	}
	has = map[string]bool{}
	configure := agent.Configure
	agent.Configure = func(c *orchestrator.Config) {
		if configure != nil {
			configure(c)
		}
		if s.Store != nil {
			c.Store = s.Store
		}
		for _, t := range at.Tools {
			if name := t.Definition().Name; !slices.ContainsFunc(c.Tools, func(had tools.Tool) bool { return had.Definition().Name == name }) {
				c.Tools = append(slices.Clip(c.Tools), t)
			}
		}
		for _, t := range c.Tools {
			has[t.Definition().Name] = true
		}
	}
	o, err = agent.Orchestrator()
	return o, has, err
}

// label gives the task of a trial its limits and labels.
func (s *Suite) label(task *orchestrator.Task, v *Variant, k *checked) {
	task.Limits = within(within(k.Limits, v.Limits), task.Limits)
	labels := map[string]string{LabelSuite: s.Name, LabelCase: k.Name, LabelVariant: v.Name}
	maps.Copy(labels, task.Labels)
	task.Labels = labels
}

// within returns limits whose zero fields are those of others.
func within(l, others delegation.Limits) delegation.Limits {
	own, from := reflect.ValueOf(&l).Elem(), reflect.ValueOf(others)
	for i := range own.NumField() {
		if own.Field(i).IsZero() {
			own.Field(i).Set(from.Field(i))
		}
	}
	return l
}

// run makes the run, and keeps what it tells, of calls those of the tools that the trial has:
// others are of tools that a strategy brings itself.
func (t *Trial) run(events iter.Seq2[machine.Event, error], has map[string]bool) (end machine.RunFinished, err error) {
	for e, failed := range events {
		switch d := e.Detail.(type) {
		case machine.ToolStarted:
			if has[d.Call.Name] {
				t.Calls = append(t.Calls, d.Call)
			}
		case machine.RunFinished:
			end = d
		}
		t.Run, err = cmp.Or(e.Run, t.Run), failed
	}
	return end, err
}

// took keeps how the run ended, and what it has used.
func (t *Trial) took(end *machine.RunFinished, err error, c *Case) {
	out := &end.Output
	t.Status = end.Status
	t.Answer = textcut.Fit(out.Text(), maxAnswer)
	t.Tokens, t.Cost = out.Usage.Total, out.Cost
	t.Steps, t.ModelCalls, t.ToolCalls = out.Counts.Steps, out.Counts.ModelCalls, out.Counts.ToolCalls
	switch {
	case end.Status == machine.StatusWaiting && c.waits():
	case err != nil:
		t.Error, t.Broken = err.Error(), llmclient.CodeOf(err).Temporary()
	case end.Status == machine.StatusWaiting:
		t.Error = "the run waits for somebody"
	case end.Status != machine.StatusDone:
		t.Error = string(end.Status)
	}
}

// score has everything scored that the case expects, and what the suite scores besides.
func (s *Suite) score(ctx context.Context, k *checked, done Done) error {
	t := done.Trial
	if score, is := k.scoreCalls(t.Calls); is {
		t.Scores = append(t.Scores, score)
	}
	if score, is := k.scoreAnswer(done.Answer); is {
		t.Scores = append(t.Scores, score)
	}
	scorers := slices.Clone(s.Scorers)
	if k.Judge != "" {
		scorers = append(scorers, s.Judge.score)
	}
	if k.Score != nil {
		scorers = append(scorers, k.Score)
	}
	for _, f := range scorers {
		score, err := f(ctx, done)
		if err == nil && !(score.Value >= 0 && score.Value <= 1) { // or not a number
			err = fmt.Errorf("%s: the value %v is not from 0 to 1", score.Name, score.Value)
		}
		if err != nil {
			return fmt.Errorf("eval: a score of case %q: %w", k.Name, err)
		}
		t.Scores = append(t.Scores, score)
	}
	t.keepCalls()
	t.Error = textcut.Fit(t.Error, maxAnswer)
	t.Passed = t.Error == ""
	for i, score := range t.Scores {
		t.Scores[i].Why = textcut.Fit(score.Why, maxAnswer)
		t.Passed = t.Passed && score.Value >= 1
	}
	return nil
}

// keepCalls keeps of the calls what the results have.
func (t *Trial) keepCalls() {
	t.Calls = slices.Clip(t.Calls[:min(len(t.Calls), maxCalls)])
	for i, c := range t.Calls {
		t.Calls[i] = messages.ToolCall{ID: c.ID, Name: c.Name, Arguments: textcut.Fit(c.Arguments, maxArguments)}
	}
}

// Labels of the runs of trials, to find them in a store.
const (
	LabelSuite   = "eval.suite"
	LabelCase    = "eval.case"
	LabelVariant = "eval.variant"
)
