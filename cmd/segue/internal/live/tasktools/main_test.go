package main

import (
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The tasks of the suites can be done: their calls have the results that the answers need. The
// tools are listed in their order.
func TestServer(t *testing.T) {
	folder, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer folder.Close()
	here, there := mcp.NewInMemoryTransports()
	served, err := server(toolsIn(folder)).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	defer served.Close()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	defer client.Close()
	var names []string
	for listed, err := range client.Tools(t.Context(), nil) {
		require.NoError(t, err)
		names = append(names, listed.Name)
	}
	require.Equal(t, []string{"add", "get_weather", "order_status", "read_file", "write_file", "create_event"}, names)
	for _, call := range []struct {
		name, result string
		fails        bool
		arguments    map[string]any
	}{
		{"add", "42", false, map[string]any{"a": 19.5, "b": 22.5}},
		{"get_weather", "-4 degrees celsius, light wind", false, map[string]any{"city": "Bergen, Norway"}},
		{"order_status", `no order has the id "61": ids begin with A-, such as A-61`, true, map[string]any{"id": "61"}},
		{"order_status", `{"carrier":"Bluebird","id":"A-61","status":"shipped"}`, false, map[string]any{"id": "A-61"}},
		{"write_file", "written", false, map[string]any{"path": "new/note.txt", "text": "shipped"}},
		{"read_file", "shipped", false, map[string]any{"path": "./new/note.txt"}},
		{"read_file", `there is no file named "lost.txt"`, true, map[string]any{"path": "lost.txt"}},
		{"create_event", "event 31 is created", false, map[string]any{"title": "a", "date": "2027-01-01", "attendees": []string{"b"}}},
	} {
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: call.name, Arguments: call.arguments})
		require.NoError(t, err)
		require.Equal(t, call.result, res.Content[0].(*mcp.TextContent).Text)
		require.Equal(t, call.fails, res.IsError)
	}
}
