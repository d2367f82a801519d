package mcptools_test

import (
	"context"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

func TestMain(m *testing.M) {
	serveHostile()
	if os.Getenv("MCP_TEST_SERVER") != "" {
		serve()
		return
	}
	goleak.VerifyTestMain(m)
}

func serve() {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "v1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

func TestS1_34_stdio(t *testing.T) {
	set, err := mcptools.Connect(t.Context(), mcptools.Config{
		Name: "test", Command: []string{os.Args[0]}, Env: []string{"MCP_TEST_SERVER=1"},
	})
	require.NoError(t, err)
	all := set.Tools()
	require.Len(t, all, 1)
	require.Equal(t, "echo", all[0].Definition().Name)
	out := tools.Runner{}.Run(t.Context(), tools.Job{Call: messages.ToolCall{ID: "1", Name: "echo", Arguments: `{"text":"hello"}`}, Tool: all[0]})
	require.Equal(t, "hello", out.Output)
	require.True(t, out.OK(), out.Output)
	require.NoError(t, set.Close())
}
