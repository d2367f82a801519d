package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// tool is a tool of a server. Its definition stays as it was when it was listed.
type tool struct {
	set  *Toolset
	name string // the server's
	def  tools.Definition
}

// Definition implements [tools.Tool].
func (t *tool) Definition() tools.Definition { return t.def }

// Call implements [tools.Tool].
func (t *tool) Call(ctx context.Context, arguments string) (string, error) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if !json.Valid([]byte(arguments)) {
		return "", &tools.ArgumentError{Tool: t.def.Name, Problems: []tools.Problem{{Message: "not JSON"}}}
	}
	l, err := t.set.links.get(ctx)
	if err != nil {
		return "", err
	}
	params := &mcp.CallToolParams{Name: t.name, Arguments: json.RawMessage(arguments)}
	token, end := t.set.links.calls.begin(ctx)
	defer end()
	params.SetProgressToken(token)
	res, err := l.session.CallTool(ctx, params)
	if err != nil {
		return "", t.set.failure("call "+t.name, err)
	}
	text := textOf(res)
	if res.IsError {
		return "", errors.New(text)
	}
	return text, nil
}

// failure returns the error for something that could not be done.
func (s *Toolset) failure(doing string, err error) error {
	return &ServerError{Server: s.cfg.Name, Doing: doing, Err: err}
}

// listChanged lists the tools anew, in the background.
func (s *links) listChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.current
	if l == nil || s.closed {
		return
	}
	s.all.Go(func() { _ = s.set.list(s.set.ctx, l) })
}
