package tools_test

import (
	"context"
	"fmt"

	"github.com/segue-go/segue/tools"
)

func ExampleNew() {
	type args struct {
		City string `json:"city" jsonschema:"the name of a city"`
		Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
	}
	weather := tools.New(tools.Definition{
		Name: "weather", Description: "Tell the weather.", ReadOnly: true,
	}, func(ctx context.Context, in args) (string, error) {
		tools.Progress(ctx, "asking the weather service")
		return "sunny in " + in.City, nil
	})

	fmt.Println(string(weather.Definition().Parameters))
	fmt.Println(weather.Call(context.Background(), `{"city":"Lisbon"}`))
	_, err := weather.Call(context.Background(), `{"days":"two","unit":"C"}`)
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"the name of a city"},"days":{"type":"integer","description":"how many days ahead"}},"required":["city"],"additionalProperties":false}
	// sunny in Lisbon <nil>
	// tools: invalid arguments for weather:
	// - missing "city"
	// - unknown "unit"
	// - /days: got string, want integer
}
