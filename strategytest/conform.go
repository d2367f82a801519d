package strategytest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Subject is a strategy to test against the contract.
type Subject struct {
	New      func() strategy.Strategy // a factory, as in a strategy.Set
	Input    delegation.Input         // without a goal and messages, the goal is "a task"
	Tools    []tools.Definition       // the run's tools
	Children []string                 // the strategies it may delegate to; they are answered, not run
	Replies  []llmclient.Response     // more replies to try, such as one in the form that the strategy expects
	Failures []nextstep.Failure       // more failures to try, such as one that the strategy handles
	Steps    int                      // how many answers deep to explore; 0 means 4

	// NoSnapshot says that Snapshot of a strategy.Snapshotter may return errors in this
	// configuration, such as for a State of package stepagent that has no JSON form.
	NoSnapshot bool
}

// Conform fails the test with everything that [Check] finds.
func Conform(t *testing.T, s Subject) {
	t.Helper()
	if err := Check(s); err != nil {
		t.Error(err)
	}
}

// Check explores the strategy. It answers each step in every way that matters: a text, an empty
// reply, a call of each kind, a reply that was cut off, withheld or refused, a failure, tools that
// succeed, fail or end unknown, children that succeed or fail. It explores paths up to
// Subject.Steps answers long, and checks these laws on every path:
//
//   - the factory returns a new strategy each time;
//   - the strategy does not panic, and always returns a step, as a value;
//   - with the same answers it makes the same decisions, and steps that it returned do not change
//     later;
//   - a method called out of turn reports an error and changes nothing;
//   - the messages of each request obey the laws of a history, and are not changed, moved or
//     removed later (each message of each request is compared, and a changed one is named);
//   - each request extends the one before, or says in Anew why it does not
//     (nextstep.GetChatCompletion);
//   - each step survives its JSON form;
//   - a [strategy.Snapshotter] that is restored from its snapshot, at any step, has the same
//     snapshot again, decides the same from then on, and concludes the same. This is also checked
//     on some longer random paths.
//
// It does so with Subject.Input. It also explores, less deeply, a conversation with a system
// prompt, tool calls and their results: once before the goal of Subject.Input, and once without a
// goal. Without a goal the messages define the task, so that
//
//   - the first step, if it is a request, contains the last user message.
//
// It returns the first few violations, joined, each with the answers that lead to it.
func Check(s Subject) error {
	if s.New == nil {
		return errors.New("strategytest: Subject.New is nil")
	}
	if s.Input.Goal == "" && len(s.Input.Messages) == 0 {
		s.Input.Goal = "a task"
	}
	if s.Steps == 0 {
		s.Steps = 4
	}
	return check(s, strategy.Snapshotter.Snapshot)
}

// check is Check; tests take snapshots in another way.
func check(s Subject, snapshot snapshotOf) error {
	e := explorer{Subject: s, survived: map[string]bool{}, snapshot: snapshot}
	if a, b := s.New(), s.New(); a != nil && reflect.TypeOf(a).Kind() == reflect.Pointer && reflect.TypeOf(a).Elem().Size() > 0 && a == b {
		e.report(nil, "the factory returned the same strategy twice")
	} else {
		e.explore(nil)
		e.wander()
		for _, in := range conversations(s.Input) {
			e.converse(in)
		}
	}
	return errors.Join(e.problems...)
}

// answer is a way to answer a step, with a name for reports. Each call of a batch is answered
// separately.
type answer struct {
	name string
	make func(e *machine.Effect) nextstep.Answer
}

type explorer struct {
	Subject
	survived map[string]bool // JSON forms of steps that were read and written unchanged
	problems []error
	about    string // the input being tried, for reports; "" for the input of the Subject
	snapshot snapshotOf
}

// most is the greatest number of problems reported.
const most = 5

// explore walks the path, and then every longer path that begins with it.
func (e *explorer) explore(path []answer) {
	if len(e.problems) >= most {
		return
	}
	d, trace, ok := e.walk(path)
	if !ok {
		return
	}
	if _, again, ok := e.walk(path); ok && !bytes.Equal(trace, again) {
		e.report(path, "it decided differently the second time:\n%s\n%s", trace, again)
	}
	e.remembers(path)
	if d.m.Done() || len(path) == e.Steps {
		return
	}
	for _, next := range e.answers(d.pending()) {
		e.explore(append(slices.Clip(path), next))
	}
}

// walk runs the path from the start. It returns the run at its end, and the steps in their JSON
// form.
func (e *explorer) walk(path []answer) (*driver, []byte, bool) {
	subject := e.New()
	d, err := drive(&machine.Config{
		Strategies: withSuccessors(strategy.Set{"subject": func() strategy.Strategy { return subject }}, subject),
		Tools:      e.Tools, Remote: e.Children,
	}, e.Input)
	if err != nil {
		e.report(path, "it cannot be started: %v", err)
		return nil, nil, false
	}
	var trace bytes.Buffer
	var returned []nextstep.NextStep
	var kept requestHistories
	asks := func(path []answer) bool {
		if d.m.Done() {
			return true
		}
		kept.add(d.pending())
		problem := kept.departed()
		if problem != "" {
			e.report(path, "%s", problem)
		}
		return problem == ""
	}
	for i, next := range path {
		if !e.note(&trace, path[:i], d, subject) {
			return nil, nil, false
		}
		step := d.pending()
		returned = append(returned, step)
		if !asks(path[:i]) {
			return nil, nil, false
		}
		if err := d.answer(next); err != nil {
			e.report(path[:i+1], "the machine refused the answer: %v", err)
			return nil, nil, false
		}
		if problem := kept.changed(); problem != "" {
			e.report(path[:i+1], "%s", problem)
			return nil, nil, false
		}
	}
	if !bytes.HasPrefix(trace.Bytes(), forms(returned)) {
		e.report(path, "it changed a step that it had returned:\n%s\n%s", trace.Bytes(), forms(returned))
		return nil, nil, false
	}
	ok := e.note(&trace, path, d, subject) && asks(path)
	return d, trace.Bytes(), ok
}

// forms returns the JSON forms of steps in the form that note writes.
func forms(steps []nextstep.NextStep) []byte {
	var b bytes.Buffer
	for _, s := range steps {
		if data, err := nextstep.Marshal(s); err == nil {
			b.Write(append(data, '\n'))
		}
	}
	return b.Bytes()
}

// note records the pending step and checks its laws.
func (e *explorer) note(trace *bytes.Buffer, path []answer, d *driver, s strategy.Strategy) bool {
	if d.m.Done() {
		if err := d.m.Output().Err; err != nil {
			fmt.Fprintf(trace, "ended: %s: %s\n", err.Code, err.Message)
			_, broke := errors.AsType[*machine.StrategyError](err)
			if broke || err.Code == delegation.CodeDefect {
				text := err.Error()
				if p, ok := errors.AsType[*machine.PanicError](err); ok {
					text = fmt.Sprintf("%s: %v", text, p.Value)
				}
				e.report(path, "it broke the protocol: %s", text)
				return false
			}
		} else {
			fmt.Fprintf(trace, "ended: %q\n", d.m.Output().Text())
		}
		return true
	}
	data, err := nextstep.Marshal(d.pending())
	if err != nil {
		e.report(path, "its step has no JSON form: %v", err)
		return false
	}
	if err := e.survives(data); err != nil {
		e.report(path, "its step does not survive its JSON form %s: %v", data, err)
		return false
	}
	trace.Write(append(data, '\n'))
	return e.outOfTurn(path, d, s)
}

// survives checks that the JSON form of a step can be read and is written unchanged. Each form is
// checked once, because paths with the same beginning have the same steps.
func (e *explorer) survives(form []byte) error {
	if e.survived[string(form)] {
		return nil
	}
	back, err := nextstep.Unmarshal(form)
	if err != nil {
		return err
	}
	again, err := nextstep.Marshal(back)
	if err != nil {
		return err
	}
	if !bytes.Equal(form, again) {
		return fmt.Errorf("it changes to %s", again)
	}
	e.survived[string(form)] = true
	return nil
}

// outOfTurn calls the methods that are out of turn.
func (e *explorer) outOfTurn(path []answer, d *driver, s strategy.Strategy) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			e.report(path, "it panicked when a method was called out of turn: %v", v)
			ok = false
		}
	}()
	state := stateOf(s)
	for kind, call := range map[nextstep.Kind]func() nextstep.NextStep{
		nextstep.KindGetChatCompletion: func() nextstep.NextStep { return s.ProcessAPIResponse(llmclient.Response{}) },
		nextstep.KindExecuteTools:      func() nextstep.NextStep { return s.ProcessToolResults(nil) },
		nextstep.KindDelegate:          func() nextstep.NextStep { return s.ProcessDelegationResult(delegation.Output{}) },
	} {
		if kind == d.pending().Kind() {
			continue
		}
		if _, refused := call().(nextstep.ReportError); !refused {
			e.report(path, "while %s is pending it took the answer to %s", d.pending().Kind(), kind)
			return false
		}
		if now := stateOf(s); now != state {
			e.report(path, "an answer out of turn moved it from state %q to %q", state, now)
			return false
		}
	}
	return true
}

func stateOf(s strategy.Strategy) strategy.State {
	if t, ok := s.(strategy.Tabler); ok {
		return t.FSM().State()
	}
	return ""
}

func (e *explorer) report(path []answer, format string, args ...any) {
	names := make([]string, len(path))
	for i, a := range path {
		names[i] = a.name
	}
	if len(e.problems) < most {
		e.problems = append(e.problems, fmt.Errorf("strategytest: %safter [%s]: %s", e.about, strings.Join(names, ", "), fmt.Sprintf(format, args...)))
	}
}
