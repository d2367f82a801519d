package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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

// MCPServers are the MCP servers that a command is connected to. They end with the command.
type MCPServers struct {
	// Dir is the working folder of commands whose configuration says none; a program with a
	// relative path is then one from the folder of the configuration on. "": that of segue, for
	// both.
	Dir string

	mu   sync.Mutex
	all  map[string]*MCPServer // by the path of the configuration and the name
	life context.Context       // of the connections; nil until there is one
	end  context.CancelFunc
}

// MCPServer is an MCP server that a command is connected to.
type MCPServer struct {
	Name   string
	Target string // what is behind it, see [config.Config.MCPTarget]
	Set    *mcptools.Toolset
	Took   time.Duration // to connect and list the tools

	Accepted map[string]trust.AcceptedTool // by the server's names of the tools
	declined bool                          // the user was asked to accept tools, and did not
}

// ServerError says that an MCP server cannot be used.
type ServerError struct {
	name string
	Err  error
}

// Error says which server, why, and what to do.
func (e *ServerError) Error() string {
	return fmt.Sprintf("%s; try it with: segue tools %s", plainwords.Line(e.Err), Quoted(e.name))
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// connect returns the connection with an MCP server of a configuration, and makes it if there is
// none. What ends ctx ends the attempt, but not the connection.
func (m *MCPServers) connect(ctx context.Context, cfg *config.Config, name string, c *CLI) (*MCPServer, error) {
	key := cfg.Path + "\x00" + name
	m.mu.Lock()
	had := m.all[key]
	if m.life == nil {
		m.life, m.end = context.WithCancel(context.Background())
		m.all = map[string]*MCPServer{}
	}
	life := m.life
	m.mu.Unlock()
	if had != nil {
		return had, nil
	}
	made, err := cfg.MCPConfig(name, c.Getenv)
	if err != nil {
		return nil, err
	}
	s := &MCPServer{Name: name, Target: cfg.MCPTarget(name)}
	if len(made.Command) > 0 && made.Dir == "" && m.Dir != "" {
		home := filepath.Dir(cfg.Path)
		s.Target, made.Dir = cfg.MCPTargetFrom(name, home), m.Dir
		if made.Command, err = programFrom(home, made.Command); err != nil {
			return nil, err
		}
	}
	if err := s.ReadAccepted(c); err != nil {
		return nil, err
	}
	made.Pinned = s.pinned()
	began := time.Now()
	attempt, give := context.WithCancelCause(life)
	stop := context.AfterFunc(ctx, func() { give(context.Cause(ctx)) })
	s.Set, err = mcptools.Connect(attempt, made)
	interrupted := !stop()
	if err == nil && interrupted {
		_ = s.Set.Close() // the error is always nil
		err = context.Cause(ctx)
	}
	if err != nil {
		give(err)
		if ctx.Err() != nil {
			return nil, EndedBySignal(ctx)
		}
		return nil, &ExitError{Code: ExitProvider, Err: &ServerError{name, err}}
	}
	s.Took = time.Since(began)
	m.mu.Lock()
	defer m.mu.Unlock()
	if other := m.all[key]; other != nil { // two runs were begun at the same time
		go func() { _ = s.Set.Close() }() // the error is always nil
		return other, nil
	}
	m.all[key] = s
	return s, nil
}

// programFrom returns a command whose program, if it is a relative path, is one from a folder on.
func programFrom(folder string, command []string) ([]string, error) {
	program := filepath.FromSlash(command[0])
	if filepath.IsAbs(program) || filepath.Base(program) == program {
		return command, nil
	}
	whole, err := filepath.Abs(filepath.Join(folder, program))
	return append([]string{whole}, command[1:]...), err
}

// NameOf returns the server's name of a tool; the name itself if the tool is gone.
func (s *MCPServer) NameOf(tool string) string {
	for _, o := range s.Set.Listing().Offers {
		if o.ToolName == tool && o.LeftOut == "" {
			return o.Name
		}
	}
	return tool
}

// forget ends a connection, so that the next one is another.
func (m *MCPServers) forget(s *MCPServer) {
	m.mu.Lock()
	for key, have := range m.all {
		if have == s {
			delete(m.all, key)
		}
	}
	m.mu.Unlock()
	_ = s.Set.Close() // the error is always nil
}

// Close ends all connections, and the commands that were started.
func (m *MCPServers) Close() {
	m.mu.Lock()
	all, end := m.all, m.end
	m.all, m.life, m.end = nil, nil, nil
	m.mu.Unlock()
	var closing sync.WaitGroup
	for _, s := range all {
		closing.Go(func() { _ = s.Set.Close() }) // the error is always nil
	}
	closing.Wait()
	if end != nil {
		end()
	}
}

// Said returns what the commands have written to their standard errors, for --verbose.
func (m *MCPServers) Said() []terminal.Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []terminal.Line
	for _, s := range m.all {
		if text := s.Set.Stderr(); text != "" {
			lines = append(lines, terminal.Dim.Line("the MCP server "+plaintext.Visible(s.Name)+" wrote:"))
			lines = append(lines, terminal.Block("  ", text)...)
		}
	}
	return lines
}

// ConnectMCP connects to MCP servers, at the same time. The connections are in the order of the
// names; errs has the error of each that could not be made.
func (c *CLI) ConnectMCP(ctx context.Context, cfg *config.Config, names []string) (servers []*MCPServer, errs []error) {
	ctx, release := UntilSignal(ctx)
	defer release()
	servers, errs = make([]*MCPServer, len(names)), make([]error, len(names))
	var connecting sync.WaitGroup
	for i, name := range names {
		connecting.Go(func() { servers[i], errs[i] = c.MCP.connect(ctx, cfg, name, c) })
	}
	connecting.Wait()
	if ctx.Err() != nil { // a server that failed meanwhile is not what ends the command
		for i := range errs {
			errs[i] = EndedBySignal(ctx)
		}
	}
	return servers, errs
}

// FirstOf returns the first error, and says how many more there are.
func FirstOf(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) > 0 && ExitCode(errs[0]) >= ExitHungUp {
		return errs[0] // a signal ended all
	}
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	code := ExitCode(errs[0])
	return &ExitError{Code: code, Err: fmt.Errorf("%w (and %s)", errs[0], plaintext.Counted(len(errs)-1, "more error"))}
}

// ReadAccepted reads which tools of the server are accepted.
func (s *MCPServer) ReadAccepted(c *CLI) error {
	store, err := trust.UserAccepted(c.Getenv)
	if err != nil {
		return err
	}
	s.Accepted, err = store.Load(s.Target)
	return err
}

// pinned returns the fingerprints of the accepted tools. It is not nil: without any, each tool
// needs an approval for each call.
func (s *MCPServer) pinned() map[string]string {
	prints := map[string]string{}
	for tool, a := range s.Accepted {
		prints[tool] = a.Fingerprint
	}
	return prints
}
