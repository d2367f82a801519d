package markdownpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Policy is a text format for thoughts and tool calls.
//
// A policy may be able to do more, found by type assertion:
//
//	Namer     Name() string                                        for errors and reports
//	Streamer  NewParser() Parser                                   reads a reply while it arrives
//	Renderer  Render(parts []messages.AssistantContent) string     writes what ParseResponse reads
//	Stopper   Stop() []string                                      stop sequences for providers that take them
type Policy interface {
	// FormatInstructions returns what a model is told about the format and the tools: it goes into
	// the system prompt, once. Without tools it tells of the rest of the format only, which may be
	// nothing.
	FormatInstructions(defs []tools.Definition) string

	// ParseResponse reads a reply. An error is a [*ParseError]; the Document then holds what was
	// read before it, and what could not be read as text.
	ParseResponse(text string) (Document, error)

	// FormatQuery renders past thoughts, calls and results in the policy's own format, as plain
	// system, user and assistant text: no message of the result is a Tool or holds a call. The
	// history given is not changed. It must obey the laws of messages.History.Validate; if not, the
	// error says which is broken.
	FormatQuery(history messages.History) (messages.History, error)
}

// Namer is a [Policy] with a name.
type Namer interface{ Name() string }

// Streamer is a [Policy] that reads a reply while it arrives.
type Streamer interface{ NewParser() Parser }

// Renderer is a [Policy] that writes what it reads.
type Renderer interface {
	Render(parts []messages.AssistantContent) string
}

// Stopper is a [Policy] whose replies should be stopped at some texts, where the provider can.
type Stopper interface{ Stop() []string }

// Mode says what becomes of text that is meant as a call but cannot be read as one.
type Mode string

// The modes.
const (
	ModeError  Mode = "error"  // an error that says where and what was expected; the default
	ModeText   Mode = "text"   // it stays text
	ModeRepair Mode = "repair" // it is mended where that cannot change what it means, else as ModeError
)

// Options are what all policies have in common. The zero value is ready.
type Options struct {
	Mode Mode // "" is ModeError

	// Tools are the tools that may be called, where they are known to the reader: some formats are
	// told from prose by the names. Nil: any name.
	Tools []tools.Definition
}

// Tooled is a [Policy] that reads replies better where it knows the tools. All built-in policies
// are.
type Tooled interface {
	// WithTools returns the policy for replies in which these tools may be called. One that was
	// made for tools already keeps them.
	WithTools(defs []tools.Definition) Policy
}

func (o Options) withTools(defs []tools.Definition) Options {
	if o.Tools == nil {
		o.Tools = defs
	}
	return o
}

// withTools returns any policy for replies in which these tools may be called.
func withTools(p Policy, defs []tools.Definition) Policy {
	if t, ok := p.(Tooled); ok {
		return t.WithTools(defs)
	}
	return p
}

// builtins are the policies by name, the default first.
var builtins = []struct {
	name  string
	build func(Options) Policy
}{
	{"fenced", func(o Options) Policy { return Fenced{o} }},
	{"xml", func(o Options) Policy { return XML{o} }},
	{"react", func(o Options) Policy { return ReAct{o} }},
	{"hermes", func(o Options) Policy { return Hermes{Options: o} }},
	{"llama", func(o Options) Policy { return Llama{o} }},
	{"pythonic", func(o Options) Policy { return Pythonic{o} }},
	{"mistral", func(o Options) Policy { return Mistral{o} }},
}

// Names returns the names of the built-in policies, the default first.
func Names() []string {
	names := make([]string, len(builtins))
	for i, b := range builtins {
		names[i] = b.name
	}
	return names
}

// New returns the built-in policy of that name; "" is the default. The error is an [*UnknownError].
func New(name string, o Options) (Policy, error) {
	for _, b := range builtins {
		if b.name == name || name == "" {
			return b.build(o), nil
		}
	}
	return nil, &UnknownError{Name: name, Known: Names()}
}

// UnknownError says that there is no policy of some name.
type UnknownError struct {
	Name  string
	Known []string
}

// Error lists the policies that there are.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("markdownpolicy: there is no policy %q; there are: %s", e.Name, strings.Join(slices.Clone(e.Known), ", "))
}

// tool returns the tool of that name, or nil.
func (o Options) tool(name string) *tools.Definition {
	i := slices.IndexFunc(o.Tools, func(d tools.Definition) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Tools[i]
}

// mayCall reports whether a name is that of a tool, as far as that is known.
func (o Options) mayCall(name string) bool { return o.Tools == nil || o.tool(name) != nil }
