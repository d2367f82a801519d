// A suite of cases as a test in Go.
package testing

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/llmclient/scripted"
)

func TestGuide_suite(t *testing.T) {
	guide := func(context.Context, eval.Place) (*segue.Agent, error) {
		model := scripted.New( // such as openaichat.New, to measure
			scripted.Calls(scripted.Call("weather", `{"name":"Oslo"}`, "")),
			scripted.Text("Take a coat."),
		)
		return Guide(model, func(_ context.Context, in city) (string, error) { return "snow in " + in.Name, nil }), nil
	}
	suite := eval.Suite{
		Name:     "guide",
		Repeat:   5,
		Variants: []eval.Variant{{Name: "now", Agent: guide}},
		Cases: []eval.Case{{
			Name:   "coat",
			Goal:   "What do I wear in Oslo?",
			Calls:  []eval.Call{{Tool: "weather", Arguments: map[string]json.RawMessage{"name": []byte(`"Oslo"`)}}},
			Answer: &eval.Answer{Matches: []string{"(?i)coat"}},
		}},
	}
	eval.Test(t, suite, 0.8) // a case fails if fewer than 8 of 10 trials pass
}
