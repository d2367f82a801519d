package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/trust"
	"github.com/segue-go/segue/tools/mcptools"
)

// mcpServers are the MCP servers that a command is connected to. They end with the command.
type mcpServers struct {
	mu   sync.Mutex
	all  map[string]*mcpServer // by the path of the configuration and the name
	life context.Context       // of the connections; nil until there is one
	end  context.CancelFunc
}

// mcpServer is an MCP server that a command is connected to.
type mcpServer struct {
	name   string
	target string // what is behind it, see [config.Config.MCPTarget]
	set    *mcptools.Toolset
	took   time.Duration // to connect and list the tools

	accepted map[string]trust.AcceptedTool // by the server's names of the tools
	declined bool                          // the user was asked to accept tools, and did not
}

// serverError says that an MCP server cannot be used.
type serverError struct {
	name string
	err  error
}

// Error says which server, why, and what to do.
func (e *serverError) Error() string {
	return fmt.Sprintf("%s; try it with: segue tools %s", plainwords.Line(e.err), quoted(e.name))
}

// Unwrap returns the cause.
func (e *serverError) Unwrap() error { return e.err }

// connect returns the connection with an MCP server of a configuration, and makes it if there is
// none. What ends ctx ends the attempt, but not the connection.
func (m *mcpServers) connect(ctx context.Context, cfg *config.Config, name string, c *cli) (*mcpServer, error) {
	key := cfg.Path + "\x00" + name
	m.mu.Lock()
	had := m.all[key]
	if m.life == nil {
		m.life, m.end = context.WithCancel(context.Background())
		m.all = map[string]*mcpServer{}
	}
	life := m.life
	m.mu.Unlock()
	if had != nil {
		return had, nil
	}
	made, err := cfg.MCPConfig(name, c.getenv)
	if err != nil {
		return nil, err
	}
	s := &mcpServer{name: name, target: cfg.MCPTarget(name)}
	if err := s.readAccepted(c); err != nil {
		return nil, err
	}
	made.Pinned = s.pinned()
	began := time.Now()
	attempt, give := context.WithCancelCause(life)
	stop := context.AfterFunc(ctx, func() { give(context.Cause(ctx)) })
	s.set, err = mcptools.Connect(attempt, made)
	interrupted := !stop()
	if err == nil && interrupted {
		_ = s.set.Close() // the error is always nil
		err = context.Cause(ctx)
	}
	if err != nil {
		give(err)
		if ctx.Err() != nil {
			return nil, endedBySignal(ctx)
		}
		return nil, &exitError{code: exitProvider, err: &serverError{name, err}}
	}
	s.took = time.Since(began)
	m.mu.Lock()
	defer m.mu.Unlock()
	if other := m.all[key]; other != nil { // two runs were begun at the same time
		go func() { _ = s.set.Close() }() // the error is always nil
		return other, nil
	}
	m.all[key] = s
	return s, nil
}

// nameOf returns the server's name of a tool; the name itself if the tool is gone.
func (s *mcpServer) nameOf(tool string) string {
	for _, o := range s.set.Listing().Offers {
		if o.ToolName == tool && o.LeftOut == "" {
			return o.Name
		}
	}
	return tool
}

// forget ends a connection, so that the next one is another.
func (m *mcpServers) forget(s *mcpServer) {
	m.mu.Lock()
	for key, have := range m.all {
		if have == s {
			delete(m.all, key)
		}
	}
	m.mu.Unlock()
	_ = s.set.Close() // the error is always nil
}

// close ends all connections, and the commands that were started.
func (m *mcpServers) close() {
	m.mu.Lock()
	all, end := m.all, m.end
	m.all, m.life, m.end = nil, nil, nil
	m.mu.Unlock()
	var closing sync.WaitGroup
	for _, s := range all {
		closing.Go(func() { _ = s.set.Close() }) // the error is always nil
	}
	closing.Wait()
	if end != nil {
		end()
	}
}

// said returns what the commands have written to their standard errors, for --verbose.
func (m *mcpServers) said() []terminal.Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []terminal.Line
	for _, s := range m.all {
		if text := s.set.Stderr(); text != "" {
			lines = append(lines, terminal.Dim.Line("the MCP server "+plaintext.Visible(s.name)+" wrote:"))
			lines = append(lines, terminal.Block("  ", text)...)
		}
	}
	return lines
}

// connectMCP connects to MCP servers, at the same time. The connections are in the order of the
// names; errs has the error of each that could not be made.
func (c *cli) connectMCP(ctx context.Context, cfg *config.Config, names []string) (servers []*mcpServer, errs []error) {
	ctx, release := untilSignal(ctx)
	defer release()
	servers, errs = make([]*mcpServer, len(names)), make([]error, len(names))
	var connecting sync.WaitGroup
	for i, name := range names {
		connecting.Go(func() { servers[i], errs[i] = c.mcp.connect(ctx, cfg, name, c) })
	}
	connecting.Wait()
	if ctx.Err() != nil { // a server that failed meanwhile is not what ends the command
		for i := range errs {
			errs[i] = endedBySignal(ctx)
		}
	}
	return servers, errs
}

// firstOf returns the first error, and says how many more there are.
func firstOf(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) > 0 && exitCode(errs[0]) >= exitHungUp {
		return errs[0] // a signal ended all
	}
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	code := exitCode(errs[0])
	return &exitError{code: code, err: fmt.Errorf("%w (and %s)", errs[0], plaintext.Counted(len(errs)-1, "more error"))}
}

// readAccepted reads which tools of the server are accepted.
func (s *mcpServer) readAccepted(c *cli) error {
	store, err := trust.UserAccepted(c.getenv)
	if err != nil {
		return err
	}
	all, err := store.Load()
	if err != nil {
		return err
	}
	s.accepted = all[s.target]
	return nil
}

// pinned returns the fingerprints of the accepted tools. It is not nil: without any, each tool
// needs an approval for each call.
func (s *mcpServer) pinned() map[string]string {
	prints := map[string]string{}
	for tool, a := range s.accepted {
		prints[tool] = a.Fingerprint
	}
	return prints
}
