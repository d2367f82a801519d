package mcptools_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/tools/mcptools"
)

func Example() {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "v1"}, nil)
	type place struct {
		City string `json:"city"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "weather.now", Description: "The weather in a city."},
		func(_ context.Context, _ *mcp.CallToolRequest, p place) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "It rains in " + p.City + "."}}}, nil, nil
		})
	served := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer served.Close()

	ctx := context.Background()
	weather, err := mcptools.Connect(ctx, mcptools.Config{Name: "weather", URL: served.URL, TrustHints: true})
	if err != nil {
		log.Fatal(err)
	}
	defer weather.Close()
	for _, o := range weather.Listing().Offers {
		fmt.Println(o.Name, "is called", o.ToolName)
	}
	agent := segue.Agent{
		Model: scripted.New(
			scripted.Calls(scripted.Call("weather_now_700b5356", `{"city":"Oslo"}`, "call_1")),
			scripted.Text("Take an umbrella."),
		),
		Tools: weather.Tools(),
	}
	answer, err := agent.Ask(ctx, "Do I need an umbrella in Oslo?")
	fmt.Println(answer, err)
	// Output:
	// weather.now is called weather_now_700b5356
	// Take an umbrella. <nil>
}

func ExampleJoin() {
	ctx := context.Background()
	files, err := mcptools.Connect(ctx, mcptools.Config{
		Name:    "files",
		Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"},
		Allow:   []string{"read_text_file", "list_directory"},
		Prefix:  "docs_",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()
	issues, err := mcptools.Connect(ctx, mcptools.Config{
		Name:    "issues",
		URL:     "https://issues.example.com/mcp",
		Headers: map[string]string{"Authorization": "Bearer …"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer issues.Close()
	list, err := mcptools.Join(files, issues)
	if err != nil {
		log.Fatal(err) // two tools have the same name
	}
	agent := &segue.Agent{Tools: list}
	_ = agent
}

func ExamplePins() {
	pins, err := mcptools.ReadPins("mcp.pins.json")
	if err != nil {
		log.Fatal(err)
	}
	files, err := mcptools.Connect(context.Background(), mcptools.Config{
		Name:    "files",
		Command: []string{"files-server"},
		Pinned:  pins.Servers["files"],
	})
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()

	// Somebody has looked at files.Listing() and accepts it:
	pins.Servers["files"] = files.Fingerprints()
	if err := pins.Write("mcp.pins.json"); err != nil {
		log.Fatal(err)
	}
}
