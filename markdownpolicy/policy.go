package markdownpolicy

import (
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

// Parser reads one reply that arrives in pieces.
type Parser interface {
	// Write takes the next piece and returns what is certain by now: texts and thoughts that cannot
	// become part of a call any more, at once and perhaps in pieces, and whole calls.
	Write(piece string) []Part

	// Close says that nothing more comes. It returns the whole, as ParseResponse of the whole text
	// does, and what of it Write had not returned.
	Close() (doc Document, rest []Part, err error)
}

// Document is a reply that was read.
type Document struct {
	Policy  string   // the name of the policy whose format was found; of a [Chain] the one that matched, "" if none did
	Parts   []Part   // in order; neighbouring texts are one, none is blank
	Repairs []Repair // what was mended, in order
}

// Part is a part of a reply, and where it stood in bytes of the text: [Start, End).
type Part struct {
	Content messages.AssistantContent // Text, Thought, or ToolCall (its ID made by the parser: "call_1", "call_2", … in the reply)
	Start   int
	End     int

	// Open says of a call that the reply ended before the mark that ends the call, such as a
	// closing fence or tag, and that there may have been more of it. Of a whole reply, a model
	// forgot the mark; of one that was cut off, part of the call may be missing, so it must not be
	// made. A call without such a mark, such as an object in prose, ends behind its last bracket.
	Open bool
}

// Contents returns the contents of the parts.
func (d Document) Contents() []messages.AssistantContent {
	contents := make([]messages.AssistantContent, len(d.Parts))
	for i, p := range d.Parts {
		contents[i] = p.Content
	}
	return contents
}

// Repair is something that was mended in a reply.
type Repair struct {
	Offset int    // in bytes of the text
	Line   int    // from 1
	What   string // such as "added the missing } at the end of the arguments"
}

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
