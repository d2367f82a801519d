package eval_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model is a client whose replies a function makes.
func model(reply func(*llmclient.Request) messages.Assistant) llmclient.Client {
	return llmclient.ClientFunc(func(_ context.Context, r *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		return &llmclient.Response{Message: reply(r), Usage: messages.Usage{Input: 9, Output: 1, Total: 10}}, nil
	})
}

type numbers struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

var add = tools.New(tools.Definition{Name: "add"}, func(_ context.Context, in numbers) (float64, error) { return in.A + in.B, nil })

// adder adds with the tool, and answers with the result; each wrong-th time it answers at once.
func adder(wrong int64) func(context.Context, eval.Place) (*segue.Agent, error) {
	var asked atomic.Int64
	return func(context.Context, eval.Place) (*segue.Agent, error) {
		return &segue.Agent{Tools: []tools.Tool{add}, Model: model(func(r *llmclient.Request) messages.Assistant {
			if out, is := r.Messages.Last().(messages.Tool); is {
				return messages.AssistantText("It is " + out.Output + ".")
			}
			if wrong > 0 && asked.Add(1)%wrong == 0 {
				return messages.AssistantText("It is 41.")
			}
			return messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: "add", Arguments: `{"a":1,"b":2}`}}}
		})}, nil
	}
}

func sums(n int) (all []eval.Case) {
	for i := range n {
		all = append(all, eval.Case{
			Name: fmt.Sprint("sum", i), Goal: "Add 1 and 2.", Only: true,
			Calls:  []eval.Call{{Tool: "add", Schema: []byte(`{"enum":[{"a":1,"b":2},{"a":2,"b":1}]}`)}},
			Answer: &eval.Answer{Matches: []string{`\b3\b`}},
		})
	}
	return all
}

// A call of a tool that a strategy brings itself is none of those that a case is about.
func TestSuite_ownTools(t *testing.T) {
	planner := func(ctx context.Context, at eval.Place) (*segue.Agent, error) {
		a, err := adder(0)(ctx, at)
		adds := a.Model
		a.Model = llmclient.ClientFunc(func(ctx context.Context, r *llmclient.Request, on func(llmclient.Delta)) (*llmclient.Response, error) {
			if len(r.Tools) > 0 && r.Tools[0].Name == "submit_plan" {
				plan := messages.ToolCall{ID: "p", Name: "submit_plan", Arguments: `{"steps":["Add 1 and 2."]}`}
				return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{plan}}}, nil
			}
			return adds.Complete(ctx, r, on)
		})
		a.Strategy = planreviseexecute.New(planreviseexecute.Config{Executor: "adder", Evaluation: planreviseexecute.EvaluateNever})
		a.Configure = func(c *orchestrator.Config) { c.Strategies["adder"] = completetask.New(completetask.Config{}) }
		return a, err
	}
	s := eval.Suite{Cases: sums(1), Variants: []eval.Variant{{Agent: planner}}}
	var done eval.Trial
	s.Observe = func(one eval.Trial, _ eval.Progress) { done = one }
	_, err := s.Run(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, done.Passed, "%+v", done)
	require.Len(t, done.Calls, 1)
}

func open(t *testing.T, path string) *eval.Results {
	r, err := eval.OpenResults(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// Two variants are told apart, and every trial leads to its run.
func TestSuite(t *testing.T) {
	store := &checkpoint.Memory{}
	var told []eval.Trial
	s := eval.Suite{
		Name: "sums", Cases: sums(4), Repeat: 3, Store: store, Observe: func(t eval.Trial, _ eval.Progress) { told = append(told, t) },
		Variants: []eval.Variant{{Name: "right", Agent: adder(0)}, {Name: "hasty", Agent: adder(2)}},
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	report, err := s.Run(t.Context(), open(t, path))
	require.NoError(t, err)
	require.Len(t, told, 24)
	for _, trial := range told {
		head, err := store.Head(t.Context(), checkpoint.Key{Run: trial.Run})
		require.NoError(t, err)
		require.Equal(t, trial.Case, head.Header.Labels[eval.LabelCase])
	}
	table := report.Table()
	require.Equal(t, []string{"variant", "passed", "rate", "pass@3", "pass^3", "answer", "calls", "errors", "requests", "tokens", "cost", "seconds"}, table[0])
	require.Equal(t, []string{"right", "12 of 12", "100 (51–100)", "100 (51–100)", "100 (51–100)", "100", "100", "0", "2.0", "20", "$0.00"}, table[1][:11])
	require.Equal(t, []string{"hasty", "6 of 12"}, table[2][:2])

	changes, err := eval.Compare(report.Variant("right"), report.Variant("hasty"), eval.Allowed{"pass": 0.6})
	require.NoError(t, err)
	require.Equal(t, eval.Worse, changes[0].Verdict)
	require.False(t, changes[0].Beyond)
	changes, err = eval.Compare(report.Variant("right"), report.Variant("hasty"), nil)
	require.NoError(t, err)
	require.True(t, changes[0].Beyond)
	changes, err = eval.Compare(report.Variant("hasty"), report.Variant("right"), nil)
	require.NoError(t, err)
	require.Equal(t, eval.Better, changes[0].Verdict)

	read, err := eval.ReadResults(path)
	require.NoError(t, err)
	require.Equal(t, table[1], read.Table()[1])
	_, err = eval.Compare(report.Variant("right"), &eval.VariantReport{Name: "none"}, nil)
	require.ErrorContains(t, err, "no case in common")
}

// An evaluation that was cut off, in the middle of a line too, goes on with what is missing; so
// does one with more repetitions. Trials of a changed case, and of a changed variant, are made
// anew, and so are those in which the model could not be asked.
func TestSuite_goesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	made := 0
	s := eval.Suite{Name: "sums", Cases: sums(10), Parallel: 1, Variants: []eval.Variant{{Name: "right", Agent: adder(0)}}}
	run := func() (*eval.Report, error) {
		made = 0
		r, err := eval.OpenResults(path)
		require.NoError(t, err)
		defer r.Close()
		return s.Run(t.Context(), r)
	}
	cut := errors.New("cut off")
	ctx, cancel := context.WithCancelCause(t.Context())
	s.Observe = func(eval.Trial, eval.Progress) {
		if made++; made == 3 {
			cancel(cut)
		}
	}
	report, err := s.Run(ctx, open(t, path))
	require.ErrorIs(t, err, cut)
	require.Equal(t, 3, report.Variants[0].Sum().Trials)

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)-9], 0o600))
	_, err = run()
	require.NoError(t, err)
	require.Equal(t, 8, made, "the third trial was not whole")
	s.Repeat = 2
	_, err = run()
	require.NoError(t, err)
	require.Equal(t, 10, made)
	s.Cases[4].Goal += " Quickly."
	report, err = run()
	require.NoError(t, err)
	require.Equal(t, 2, made)
	require.Equal(t, 20, report.Variants[0].Sum().Trials)
	s.Variants[0].Setup = "another prompt"
	_, err = run()
	require.NoError(t, err)
	require.Equal(t, 20, made)
	read, err := eval.ReadResults(path)
	require.NoError(t, err)
	require.Equal(t, 20, read.Variants[0].Sum().Trials, "a trial that was made again counts once")

	s.Name = "others"
	_, err = run()
	require.ErrorContains(t, err, `holds results of the suite "sums", and not of "others"`)
	require.NoError(t, os.WriteFile(path, []byte(`{"v":2}`+"\n"), 0o600))
	_, err = run()
	require.ErrorContains(t, err, "version 2 is not known")
}

// A trial in which the model could not be asked is an error, and made again.
func TestSuite_broken(t *testing.T) {
	down := true
	s := eval.Suite{Name: "sums", Cases: sums(1), Variants: []eval.Variant{{Name: "right", Agent: func(ctx context.Context, at eval.Place) (*segue.Agent, error) {
		a, err := adder(0)(ctx, at)
		if down {
			a.Model = llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
				return nil, &llmclient.Error{Code: llmclient.CodeUnavailable, Message: "no route"}
			})
		}
		return a, err
	}}}}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	for _, want := range []eval.CaseReport{{Trials: 1, Errors: 1, Broken: 1}, {Trials: 1, Passed: 1}} {
		report, err := s.Run(t.Context(), open(t, path))
		require.NoError(t, err)
		got := report.Variants[0].Sum()
		require.Equal(t, []int{want.Trials, want.Passed, want.Errors, want.Broken}, []int{got.Trials, got.Passed, got.Errors, got.Broken})
		down = false
	}
}

// An evaluation ends once it has cost as much as it may, and goes on with more.
func TestSuite_cost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	s := eval.Suite{Name: "sums", Cases: sums(10), Parallel: 1, MaxCost: 55, Variants: []eval.Variant{{Name: "right", Agent: func(ctx context.Context, at eval.Place) (*segue.Agent, error) {
		a, err := adder(0)(ctx, at)
		a.Configure = func(c *orchestrator.Config) {
			c.Prices = llmclient.Prices{"m": {Input: 1, Output: 1}}
		}
		a.Strategy = completetask.New(completetask.Config{Model: "m"})
		return a, err
	}}}}
	report, err := s.Run(t.Context(), open(t, path))
	require.ErrorIs(t, err, eval.ErrCost)
	require.Equal(t, 3, report.Variants[0].Sum().Trials, "20 millionths each")
	s.MaxCost = 0
	report, err = s.Run(t.Context(), open(t, path))
	require.NoError(t, err)
	require.Equal(t, 10, report.Variants[0].Sum().Trials)
}

// What is wrong is said before anything is tried, all at once.
func TestSuite_unusable(t *testing.T) {
	agent := adder(0)
	s := eval.Suite{
		Cases: []eval.Case{
			{Name: "a", Goal: "g"},
			{Goal: "g", Judge: "good"},
			{Name: "b", Answer: &eval.Answer{Matches: []string{"("}, Schema: []byte(`{"type":1}`)}},
			{Name: "c", Goal: "g", Calls: []eval.Call{{}}},
			{Name: "d", Goal: "g", Only: true},
			{Name: "d", Goal: "g", Only: true},
			{Name: "e", Goal: "g", Judge: "good"},
		},
		Variants: []eval.Variant{{Name: "x", Agent: agent}, {Name: "x", Agent: agent}, {Name: "y"}},
	}
	_, err := s.Run(t.Context(), nil)
	for _, want := range []string{
		`case "a": it expects nothing`, `it has no name`, `case "b": it has neither a goal nor a history`, `answer.matches[0]: error parsing regexp`,
		`case "c": calls[0]: it names no tool`, `two cases have the name "d"`, `case "e" has a criterion for a judge`, `two variants have the name "x"`, `variant "y" has no Agent`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = (&eval.Suite{}).Run(t.Context(), nil)
	require.ErrorContains(t, err, "no cases")
}

// The files of a case are in a folder of its own, which is gone afterwards; a path cannot lead out
// of it. What a variant has opened is closed when the trial ends.
func TestSuite_folder(t *testing.T) {
	var folders []string
	closed := 0
	s := eval.Suite{
		Name: "files",
		Cases: []eval.Case{{Name: "a", Goal: "g", Files: map[string]string{"in/a.txt": "7"}, Score: func(_ context.Context, done eval.Done) (eval.Score, error) {
			data, err := os.ReadFile(filepath.Join(done.Folder, "in", "a.txt"))
			folders = append(folders, done.Folder)
			require.Zero(t, closed)
			return eval.Score{Name: "file", Value: 1, Why: string(data)}, err
		}}},
		Variants: []eval.Variant{{Name: "x", Agent: func(ctx context.Context, at eval.Place) (*segue.Agent, error) {
			at.Close(func() { closed++ })
			return adder(0)(ctx, at)
		}}},
	}
	report, err := s.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, report.Variants[0].Sum().Passed)
	require.Equal(t, 1, closed)
	require.NoDirExists(t, folders[0])
	s.Cases[0].Files = map[string]string{"../a.txt": "7"}
	_, err = s.Run(t.Context(), nil)
	require.ErrorContains(t, err, `case "a": files:`)
}

// chatty makes calls of add, then one of forbidden, and answers with a long text.
func chatty(adds int, answer string) func(context.Context, eval.Place) (*segue.Agent, error) {
	return func(context.Context, eval.Place) (*segue.Agent, error) {
		forbidden := tools.NewRaw(tools.Definition{Name: "forbidden"}, func(context.Context, string) (string, error) { return "", nil })
		return &segue.Agent{Tools: []tools.Tool{add, forbidden}, Model: model(func(r *llmclient.Request) messages.Assistant {
			if _, is := r.Messages.Last().(messages.Tool); is {
				return messages.AssistantText(answer)
			}
			var m messages.Assistant
			for i := range adds {
				m.Content = append(m.Content, messages.ToolCall{ID: fmt.Sprint("c", i), Name: "add", Arguments: fmt.Sprintf(`{"a":%d,"b":2}`, i)})
			}
			m.Content = append(m.Content, messages.ToolCall{ID: "f", Name: "forbidden", Arguments: `{"text":"` + strings.Repeat("a", 100_000) + `"}`})
			return m
		})}, nil
	}
}

// Every call is scored, however many there are and however long; of the trial a part is kept.
func TestSuite_manyCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	s := eval.Suite{
		Name: "many", Cases: []eval.Case{{Name: "a", Goal: "g", Forbid: []string{"forbidden"}, Answer: &eval.Answer{Lacks: []string{"b+"}}}},
		Variants: []eval.Variant{{Name: "x", Agent: chatty(150, strings.Repeat("b", 100_000))}},
	}
	report, err := s.Run(t.Context(), open(t, path))
	require.NoError(t, err)
	require.Equal(t, "calls: called forbidden, which is forbidden", report.Variants[0].Cases[0].Why)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(30_000))
}

// A score that is none ends the evaluation, and says why.
func TestSuite_scores(t *testing.T) {
	for value, want := range map[float64]string{math.NaN(): "NaN", -0.1: "-0.1", 1.1: "1.1"} {
		s := eval.Suite{Name: "sums", Cases: sums(1), Variants: []eval.Variant{{Name: "right", Agent: adder(0)}}}
		s.Scorers = []eval.Scorer{func(context.Context, eval.Done) (eval.Score, error) {
			return eval.Score{Name: "mine", Value: value}, nil
		}}
		_, err := s.Run(t.Context(), nil)
		require.EqualError(t, err, `eval: a score of case "sum0": mine: the value `+want+" is not from 0 to 1")
	}
}

// What is kept of an evaluation does not grow with what its trials have said.
func TestSuite_large(t *testing.T) {
	cases := prove.CasesOr(2000)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var done int
	var early uint64
	s := eval.Suite{
		Name: "sums", Cases: sums(cases), Variants: []eval.Variant{{Name: "right", Agent: chatty(1, "It is 3. "+strings.Repeat("b", 5000))}},
		Observe: func(eval.Trial, eval.Progress) {
			if done++; done == cases/5 {
				early = heap()
			}
		},
	}
	report, err := s.Run(t.Context(), open(t, filepath.Join(t.TempDir(), "r.jsonl")))
	require.NoError(t, err)
	require.Equal(t, cases, report.Variants[0].Sum().Trials)
	grown := (float64(heap()) - float64(early)) / float64(cases*4/5)
	require.Less(t, grown, 1000.0, "bytes a trial")
	runtime.KeepAlive(s)
}

// A tool without a result ends the trial once the calls of the reply are made, and its run, too:
// nobody is waited for.
func TestSuite_toolWithoutResult(t *testing.T) {
	store := &checkpoint.Memory{}
	calls := messages.Assistant{Content: []messages.AssistantContent{
		messages.ToolCall{ID: "1", Name: "f", Arguments: "{}"}, messages.ToolCall{ID: "2", Name: "f", Arguments: "{}"}, messages.ToolCall{ID: "3", Name: "g", Arguments: "{}"},
	}}
	s := eval.Suite{
		Name: "calls", Store: store,
		Variants: []eval.Variant{{Name: "v", Agent: func(context.Context, eval.Place) (*segue.Agent, error) {
			return &segue.Agent{Model: model(func(*llmclient.Request) messages.Assistant { return calls })}, nil
		}}},
		Cases: []eval.Case{{
			Name: "a", Goal: "Call.", Only: true,
			Tools: []eval.Tool{{Definition: tools.Definition{Name: "f"}}, {Definition: tools.Definition{Name: "g"}}},
			Calls: []eval.Call{{Tool: "g"}, {Tool: "f"}, {Tool: "f"}},
		}},
	}
	var told eval.Trial
	s.Observe = func(t eval.Trial, _ eval.Progress) { told = t }
	_, err := s.Run(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, told.Passed, told)
	require.Equal(t, 1, told.ModelCalls)
	head, err := store.Head(t.Context(), checkpoint.Key{Run: told.Run})
	require.NoError(t, err)
	require.True(t, head.Header.Status.Ended())
}
