package mcptools

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"time"
)

// Config describes one server. It needs a Command or a URL.
type Config struct {
	// Name names the server in errors, questions and pins. The default is the base name of the
	// command, or the server's host of the URL.
	Name string

	// Command is a program and its arguments. The program is started without a shell and speaks MCP
	// on its standard input and output. It runs in a process group of its own, which is ended with
	// the Toolset.
	Command []string
	Dir     string // working directory of the command; "" is that of this process

	// Env is the environment of the command. An entry "NAME=value" sets a variable; an entry "NAME"
	// passes on the variable of this process, if it has one. Besides these, the command gets only
	// the variables of [InheritedEnv]: no key of this process reaches a server that was not meant
	// to have it.
	Env []string

	// URL is the address of a server that speaks MCP over streamable HTTP.
	URL     string
	Headers map[string]string // added to each request to the host of URL, and to no other host

	// HTTPClient makes the requests; nil means one of its own. Its Timeout would also end the
	// streams that a server keeps open: set the time-outs of this Config instead.
	HTTPClient *http.Client

	// Protocol is the newest protocol version to offer, such as "2025-11-25"; "" is the newest that
	// the SDK speaks.
	Protocol string

	Prefix string   // put before each tool's name, such as "files_"; "" keeps the names
	Allow  []string // the server's names of the tools to offer; nil offers all

	// TrustHints believes the server's hints that a tool is read-only or idempotent: such a call is
	// made again after a crash. A hint that a tool is destructive is always believed: each call of
	// the tool needs an approval.
	TrustHints bool

	// TrustResults says that results contain no foreign instructions. Otherwise they are marked as
	// untrusted.
	TrustResults bool

	// ShowImages shows the model the pictures of results (PNG, JPEG, GIF and WebP), up to 1 MiB in
	// one result, besides their texts. The client of the model must take images in the results of
	// tools. Without ShowImages pictures are attached for people, as other files are.
	ShowImages bool

	// Safety replaces the server's hints, by the server's name of the tool.
	Safety map[string]Safety

	// Pinned holds the fingerprints of the definitions that somebody has accepted, by the server's
	// name of the tool: see [Pins]. A tool whose definition is not the accepted one, or that was
	// not there, needs an approval for each call. Nil pins nothing.
	Pinned map[string]string

	ConnectTimeout time.Duration // to connect and list the tools; 0: 30 s
	CallTimeout    time.Duration // of one call, without the time of people; 0: the runner's default; negative: none
	CloseTimeout   time.Duration // that the command has to end, before it is killed; 0: 2 s

	Limits Limits

	// Logger receives what the server does wrong, such as a line that is no message; nil: nothing
	// is logged.
	Logger *slog.Logger
}

// Safety says how a tool may be run, as the fields of the same names in [tools.Definition] do.
type Safety struct {
	ReadOnly      bool
	Idempotent    bool
	Repeatable    bool
	Sequential    bool
	NeedsApproval bool
}

// Limits bound what a server can make this process hold. Zero means the default.
type Limits struct {
	Tools       int // tools offered; default 500. The others are left out
	Description int // bytes of a description; default 4 KiB. A longer one is cut
	Schema      int // bytes of an input schema; default 64 KiB. A tool with a larger one is left out
	Result      int // bytes kept of a result; default: the runner's
	Message     int // bytes of one message of the server; default 16 MiB. A larger one ends the connection, and fails the call
	Stderr      int // last bytes kept of what the command writes on its standard error; default 16 KiB
}

// Defaults of a [Config].
const (
	defaultConnectTimeout = 30 * time.Second
	defaultCloseTimeout   = 2 * time.Second
	defaultTools          = 500
	defaultDescription    = 4 << 10
	defaultSchema         = 64 << 10
	defaultMessage        = 16 << 20
	defaultStderr         = 16 << 10
)

const mostPrefix = 32

// withDefaults checks a Config and fills in its defaults.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Command) == 0 && c.URL == "":
		return c, c.unfit("it needs a Command or a URL")
	case len(c.Command) != 0 && c.URL != "":
		return c, c.unfit("it has both a Command and a URL: give it one")
	case len(c.Command) != 0 && c.Command[0] == "":
		return c, c.unfit("the program of its Command is empty")
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return c, c.unfit("its URL is not an http or https address with a host")
		}
		orDefault(&c.Name, u.Host)
	} else {
		orDefault(&c.Name, filepath.Base(c.Command[0]))
	}
	orDefault(&c.ConnectTimeout, defaultConnectTimeout)
	orDefault(&c.CloseTimeout, defaultCloseTimeout)
	orDefault(&c.Limits.Tools, defaultTools)
	orDefault(&c.Limits.Description, defaultDescription)
	orDefault(&c.Limits.Schema, defaultSchema)
	orDefault(&c.Limits.Message, defaultMessage)
	orDefault(&c.Limits.Stderr, defaultStderr)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, r := range c.Prefix {
		if !isNameRune(r) || len(c.Prefix) > mostPrefix {
			return c, c.unfit(fmt.Sprintf("its Prefix %.64q is not 1 to %d of letters, digits, _ and -", c.Prefix, mostPrefix))
		}
	}
	c.Command, c.Env, c.Allow = slices.Clone(c.Command), slices.Clone(c.Env), slices.Clone(c.Allow)
	c.Headers, c.Safety, c.Pinned = maps.Clone(c.Headers), maps.Clone(c.Safety), maps.Clone(c.Pinned)
	return c, nil
}

func orDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

func (c Config) unfit(problem string) error {
	return fmt.Errorf("mcptools: the server %.64q: %s", c.Name, problem)
}

// ServerError reports that something could not be done with a server: it could not be started or
// reached, it broke off, or it did something that it may not do. Its text is written for a model,
// too.
type ServerError struct {
	Server string // its name
	Doing  string // what was not done, such as "connect"
	Err    error  // the cause; its text has no secret of the Config
	Advice string // what to do; may be empty
}

// Error says which server, what failed, and what to do.
func (e *ServerError) Error() string {
	text := fmt.Sprintf("mcptools: the server %.64q: cannot %s: %v", e.Server, e.Doing, e.Err)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// cause is an error with a text without secrets.
type cause struct {
	text string
	err  error
}

// Error returns the text.
func (e *cause) Error() string { return e.text }

// Unwrap returns the error that the text is of.
func (e *cause) Unwrap() error { return e.err }

const mostErrorText = 2 << 10

// failure returns the error for something that could not be done with the server.
func (s *Toolset) failure(doing string, err error) error {
	if _, ok := errors.AsType[*ServerError](err); ok {
		return err
	}
	e := &ServerError{Server: s.cfg.Name, Doing: clean(doing, 200), Err: &cause{text: clean(s.redact.text(err.Error()), mostErrorText), err: err}}
	switch {
	case errors.Is(err, errClosed):
		e.Advice = "connect again"
	case errors.Is(err, errPause):
		e.Advice = "use other tools meanwhile"
	}
	return e
}
