package mcptools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What mend notes for this package in messages of a server.
const (
	emptyCursor = "io.github.segue-go/empty-cursor" // instead of the cursor "", which the SDK takes for none
	needsTask   = "io.github.segue-go/needs-task"   // in the _meta of a tool of which each call must be a task
)

type object = map[string]json.RawMessage

// mend returns a message of a server as the SDK can read it, with what the SDK does not say.
func mend(message []byte) []byte {
	var m, result object
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(m["result"], &result) != nil {
		return message
	}
	switch {
	case result["tools"] != nil:
		mendTools(result)
	case result["content"] == nil || isReadable(m["result"]):
		return message
	default:
		result = readable(result)
	}
	m["result"] = asJSON(result)
	return asJSON(m)
}

// asJSON returns what holds only texts, numbers and JSON as JSON.
func asJSON(v any) json.RawMessage {
	data, _ := json.Marshal(v) // there is nothing in it that is not JSON
	return data
}

func mendTools(result object) {
	var list []object
	if json.Unmarshal(result["tools"], &list) != nil {
		return
	}
	for _, t := range list {
		var execution struct{ TaskSupport string }
		if json.Unmarshal(t["execution"], &execution) == nil && execution.TaskSupport == "required" {
			t["_meta"] = asJSON(map[string]bool{needsTask: true})
		}
	}
	result["tools"] = asJSON(list)
	if string(result["nextCursor"]) == `""` {
		result["nextCursor"] = asJSON(emptyCursor)
	}
}

// isReadable reports whether the SDK can read the result of a call.
func isReadable(result []byte) bool { return json.Unmarshal(result, new(mcp.CallToolResult)) == nil }

// readable returns the result of a call with texts in place of the parts that the SDK cannot read,
// or one that has failed if that is not enough.
func readable(result object) object {
	var parts []json.RawMessage
	_ = json.Unmarshal(result["content"], &parts) // nothing else helps if it is no list
	for i, part := range parts {
		if !isReadable(asJSON(map[string]any{"content": []any{part}})) {
			var c struct{ Type string }
			_ = json.Unmarshal(part, &c) // the kind is not always known
			parts[i] = asJSON(&mcp.TextContent{Text: fmt.Sprintf("[left out: a part of the kind %.40q that cannot be read]", c.Type)})
		}
	}
	if result["content"] = asJSON(parts); parts == nil || !isReadable(asJSON(result)) {
		text := &mcp.TextContent{Text: "mcptools: the server made the call, and its result cannot be read"}
		return object{"isError": asJSON(true), "content": asJSON([]any{text})}
	}
	return result
}

// mendEvent mends a line of a stream of events.
func mendEvent(line []byte) []byte {
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		return append([]byte("data: "), mend(bytes.TrimSpace(data))...)
	}
	return line
}

// lineReader reads lines as edit returns them; nil leaves one out.
type lineReader struct {
	io.Closer
	lines *bufio.Scanner
	edit  func(line []byte) []byte
	left  []byte
}

// newLineReader returns a lineReader that fails at a line that is longer than most.
func newLineReader(from io.ReadCloser, most int, edit func([]byte) []byte) *lineReader {
	r := &lineReader{Closer: from, lines: bufio.NewScanner(from), edit: edit}
	r.lines.Buffer(nil, most)
	return r
}

// Read implements [io.Reader].
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if !r.lines.Scan() {
			return 0, cmp.Or(r.lines.Err(), io.EOF)
		}
		if line := r.edit(r.lines.Bytes()); line != nil {
			r.left = append(line, '\n')
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// fromEmpty are the parameters of a list that goes on at the cursor "".
type fromEmpty struct{ *mcp.ListToolsParams }

// MarshalJSON implements [json.Marshaler].
func (p fromEmpty) MarshalJSON() ([]byte, error) {
	return bytes.Replace(asJSON(p.ListToolsParams), asJSON(emptyCursor), []byte(`""`), 1), nil
}

// sendEmptyCursor is an [mcp.Middleware] that sends the cursor "".
func sendEmptyCursor(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if r, ok := req.(*mcp.ClientRequest[mcp.Params]); ok {
			if p, ok := r.Params.(*mcp.ListToolsParams); ok && p.Cursor == emptyCursor {
				r.Params = fromEmpty{p}
			}
		}
		return next(ctx, method, req)
	}
}
