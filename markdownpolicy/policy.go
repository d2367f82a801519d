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
// A Policy may implement these optional interfaces, found by type assertion:
//
//	Namer     Name() string                                        for errors and reports
//	Streamer  NewParser() Parser                                   reads a reply while it arrives
//	Renderer  Render(parts []messages.AssistantContent) string     writes what ParseResponse reads
//	Stopper   Stop() []string                                      stop sequences for providers that take them
//	Schemer   ReplySchema(defs, must, answer) json.RawMessage      a schema for servers that hold a reply to one
type Policy interface {
	// FormatInstructions returns the instructions for a model about the format and the tools. They
	// go into the system prompt, once. Without tools they describe only the rest of the format, and
	// may be empty.
	FormatInstructions(defs []tools.Definition) string

	// ParseResponse parses a reply. An error is a [*ParseError]. The Document then holds the parts
	// before the error, and the unreadable rest as text.
	ParseResponse(text string) (Document, error)

	// FormatQuery renders past thoughts, calls and results in the policy's format, as plain system,
	// user and assistant text: the result contains no Tool message and no call. It does not change
	// history. If history breaks a law of messages.History.Validate, it returns an error that names
	// the law.
	FormatQuery(history messages.History) (messages.History, error)
}

// Namer is a [Policy] with a name.
type Namer interface{ Name() string }

// Streamer is a [Policy] that reads a reply while it arrives.
type Streamer interface{ NewParser() Parser }

// Renderer is a [Policy] that can write what it reads.
type Renderer interface {
	Render(parts []messages.AssistantContent) string
}

// Stopper is a [Policy] whose replies should be stopped at certain texts, if the provider can do
// so.
type Stopper interface{ Stop() []string }

// Mode selects what happens to text that is meant as a call but cannot be read as one.
type Mode string

// The modes.
const (
	ModeError  Mode = "error"  // an error with the position and the expected text; the default
	ModeText   Mode = "text"   // it becomes text
	ModeRepair Mode = "repair" // it is repaired if that cannot change its meaning, and an error otherwise
)

// Options are common to all policies. The zero value is ready to use.
type Options struct {
	Mode Mode // "" is ModeError

	// Tools are the tools that may be called, if they are known. The names help some formats to
	// distinguish calls from prose. Nil allows any name.
	Tools []tools.Definition
}

// Tooled is a [Policy] that reads replies better if it knows the tools. All built-in policies are
// Tooled.
type Tooled interface {
	// WithTools returns the policy for replies in which these tools may be called. A policy that
	// already has tools keeps them.
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

// builtins are the built-in policies, the default first. Each has its name.
var builtins = []Policy{Fenced, XML, ReAct{}, Hermes, Llama, Pythonic, Mistral, GLM, Kimi, DeepSeek, Harmony, Gemma, MiniMax, Gemma4, DeepSeekV32, Structured{}}

// Names returns the names of the built-in policies, the default first.
func Names() []string {
	names := make([]string, len(builtins))
	for i, p := range builtins {
		names[i] = nameOf(p)
	}
	return names
}

// New returns the built-in policy with that name; "" is the default. An error lists the names.
func New(name string, o Options) (Policy, error) {
	for _, p := range builtins {
		if name != "" && nameOf(p) != name {
			continue
		}
		switch p := p.(type) {
		case ReAct:
			return ReAct{o}, nil
		case Structured:
			return Structured{Options: o}, nil
		case Format:
			return p.With(o), nil
		}
	}
	return nil, fmt.Errorf("markdownpolicy: there is no policy %q; there are: %s", name, strings.Join(Names(), ", "))
}

// tool returns the tool with that name, or nil.
func (o Options) tool(name string) *tools.Definition {
	i := slices.IndexFunc(o.Tools, func(d tools.Definition) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Tools[i]
}

// mayCall reports whether name may be the name of a tool, as far as the tools are known.
func (o Options) mayCall(name string) bool { return o.Tools == nil || o.tool(name) != nil }
