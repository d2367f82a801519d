// Command tasktools is an MCP server on standard input and output, with the tools for the suites
// in testdata/eval. Its files are those of its working folder.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

func main() {
	folder, err := os.OpenRoot(".")
	if err == nil {
		err = server(toolsIn(folder)).Run(context.Background(), &mcp.StdioTransport{})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// server serves tools, and lists them in their order: the SDK sorts them by name.
func server(all []tools.Tool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tasktools"}, nil)
	listed := &mcp.ListToolsResult{}
	for _, t := range all {
		def := t.Definition()
		tool := &mcp.Tool{Name: def.Name, Description: def.Description, InputSchema: def.Parameters}
		listed.Tools = append(listed.Tools, tool)
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := t.Call(ctx, string(r.Params.Arguments))
			if err != nil {
				text = err.Error()
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: err != nil}, nil
		})
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, r)
			if sorted, is := result.(*mcp.ListToolsResult); is && err == nil {
				sorted.Tools = listed.Tools
			}
			return result, err
		}
	})
	return s
}

type (
	numbers struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	place struct {
		City string `json:"city"`
		Unit string `json:"unit,omitempty" jsonschema:"celsius or fahrenheit"`
	}
	order struct {
		ID string `json:"id" jsonschema:"such as A-17"`
	}
	path struct {
		Path string `json:"path"`
	}
	content struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	event struct {
		Title     string   `json:"title"`
		Date      string   `json:"date" jsonschema:"YYYY-MM-DD"`
		Attendees []string `json:"attendees"`
	}
)

var warmth = map[string]int{"bergen": -4, "lyon": 16, "turin": 21}

// toolsIn are six tools, of which two work on the files of a folder.
func toolsIn(folder *os.Root) []tools.Tool {
	return []tools.Tool{
		tool("add", "Adds two numbers.", func(in numbers) (any, error) { return in.A + in.B, nil }),
		tool("get_weather", "Returns the weather of a city.", func(in place) (any, error) {
			city, _, _ := strings.Cut(in.City, ",")
			degrees, ok := warmth[strings.ToLower(city)]
			if !ok {
				return nil, fmt.Errorf("the weather of %q is not known", in.City)
			}
			return fmt.Sprintf("%d degrees celsius, light wind", degrees), nil
		}),
		tool("order_status", "Returns the status of an order.", func(in order) (any, error) {
			if !strings.HasPrefix(in.ID, "A-") {
				return nil, fmt.Errorf("no order has the id %q: ids begin with A-, such as A-%s", in.ID, in.ID)
			}
			return map[string]string{"id": in.ID, "status": "shipped", "carrier": "Bluebird"}, nil
		}),
		tool("read_file", "Returns the text of a file.", func(in path) (any, error) {
			text, err := folder.ReadFile(in.Path)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("there is no file named %q", in.Path)
			}
			return string(text), err
		}),
		tool("write_file", "Writes a file.", func(in content) (any, error) {
			if err := folder.MkdirAll(filepath.Dir(in.Path), 0o700); err != nil {
				return nil, err
			}
			return "written", folder.WriteFile(in.Path, []byte(in.Text), 0o600)
		}),
		tool("create_event", "Creates a calendar event.", func(event) (any, error) { return "event 31 is created", nil }),
	}
}

func tool[In any](name, description string, run func(In) (any, error)) tools.Tool {
	return tools.New(tools.Definition{Name: name, Description: description}, func(_ context.Context, in In) (any, error) { return run(in) })
}
