package eval_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

// polite is a variant of an agent. Its model is scripted here; it would be that of a provider.
func polite(name, greeting string) eval.Variant {
	return eval.Variant{Name: name, Setup: greeting, Agent: func(context.Context, eval.Place) (*segue.Agent, error) {
		return &segue.Agent{Model: scripted.New(scripted.Text(greeting))}, nil
	}}
}

var greetings = []eval.Case{
	{Name: "morning", Goal: "It is 8 in the morning. Greet Ada.", Answer: &eval.Answer{Matches: []string{"Ada", "(?i)good morning"}}},
	{Name: "bare", Goal: "Greet Ada with one word and her name.", Answer: &eval.Answer{Matches: []string{"Ada"}}},
}

func ExampleSuite() {
	suite := eval.Suite{
		Name: "greetings", Cases: greetings, Repeat: 5,
		Variants: []eval.Variant{polite("now", "Hello, Ada"), polite("new", "Good morning, Ada")},
	}
	report, err := suite.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range report.Variants {
		fmt.Println(v.Name, v.Passes())
	}
	changes, err := eval.Compare(report.Variants[0], report.Variants[1], nil)
	fmt.Printf("%s %.3f %s %v\n", changes[0].Measure, changes[0].P, changes[0].Verdict, err)
	// Output:
	// now 50 (0–100)
	// new 100 (34–100)
	// pass 0.008 better <nil>
}

// In go test a suite has a subtest for each case.
func TestGreetings(t *testing.T) {
	eval.Test(t, eval.Suite{Name: "greetings", Cases: greetings, Variants: []eval.Variant{polite("new", "Good morning, Ada")}}, 1)
}

// A case of which too few trials pass fails its subtest, and says why.
func TestTest_fails(t *testing.T) {
	asked := 0
	one := eval.Variant{Name: "v", Agent: func(context.Context, eval.Place) (*segue.Agent, error) {
		return &segue.Agent{Model: model(func(*llmclient.Request) messages.Assistant {
			asked++
			return messages.AssistantText([]string{"Ada", "Bob"}[asked%2])
		})}, nil
	}}
	for required, want := range map[float64]string{0.5: "", 0.6: "v/bare: 1 of 2 trials passed"} {
		r := &recorder{T: t, failed: new(string)}
		eval.Test(r, eval.Suite{Name: "s", Cases: greetings[1:], Variants: []eval.Variant{one}, Repeat: 2, Parallel: 1}, required)
		if (want == "") != (*r.failed == "") || len(*r.failed) < len(want) || (*r.failed)[:len(want)] != want {
			t.Errorf("%v: %q", required, *r.failed)
		}
	}
}

// recorder is a test that notes how it fails.
type recorder struct {
	*testing.T
	name   string
	failed *string
}

func (r *recorder) Run(name string, f func(*recorder)) bool {
	f(&recorder{T: r.T, name: name, failed: r.failed})
	return true
}

func (r *recorder) Errorf(format string, args ...any) {
	*r.failed = r.name + ": " + fmt.Sprintf(format, args...)
}
