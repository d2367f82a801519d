// A suite of cases as a test in Go.
package evaluation

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/tools"
)

type city struct {
	Name string `json:"name"`
}

func snow(_ context.Context, in city) (string, error) { return "snow in " + in.Name, nil }

// guide makes the agent of a trial.
func guide(context.Context, eval.Place) (*segue.Agent, error) {
	return &segue.Agent{
		Model: scripted.New( // a client such as that of openaichat.New, to measure a model
			scripted.Calls(scripted.Call("weather", `{"name":"Oslo"}`, "")),
			scripted.Text("Take a coat."),
		),
		Tools: []tools.Tool{tools.New(tools.Definition{Name: "weather", ReadOnly: true}, snow)},
	}, nil
}

func TestGuide(t *testing.T) {
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
	eval.Test(t, suite, 0.8) // a case fails if fewer than four of its five trials pass
}
