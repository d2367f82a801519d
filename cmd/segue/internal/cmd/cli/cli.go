// Package cli holds what all commands share: streams, flags, help, exit codes, signals, output, the
// store of the runs, the configuration and its trust, and connections to MCP servers.
package cli

import (
	"io"
	"io/fs"
	"os"
)

// CLI holds the streams and the environment of the commands.
type CLI struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string

	Interactive bool // somebody can be asked: at stdin and stderr, or at tty and stderr
	MCP         *MCPServers
	Ahead       []byte   // what was typed for the next prompt while a run was at work
	Tty         *os.File // the terminal of the process, if stdin is something else and somebody can be asked there; or nil
}

// Keyboard returns what the user types on.
func (c *CLI) Keyboard() io.Reader {
	if c.Tty != nil {
		return c.Tty
	}
	return c.Stdin
}

// IsFed reports whether something can come from standard input without anybody who types it: it is
// a pipe, a socket or a file. A terminal and the null device are none of them.
func (c *CLI) IsFed() bool {
	f, ok := c.Stdin.(*os.File)
	if !ok {
		return c.Stdin != nil
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0)
}
