package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Format is a text format: the marks around calls, thoughts and results, and how a call is written
// between them. The formats of the package are ready to use, with options or without:
//
//	policyclient.Wrap(client, markdownpolicy.Hermes)
//	policyclient.Wrap(client, markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair}))
//
// The zero value is [Fenced].
type Format struct {
	Options

	// Thoughts are those of a model that writes them between <think> and </think>; "" is
	// ThoughtsTagged. [Fenced], [XML], [Llama], [Pythonic], [Mistral], [Gemma], [Gemma4] and [Harmony]
	// write thoughts in one way only.
	Thoughts Thoughts

	ForgetThoughts bool // past thoughts are not told

	row *row
}

// row is what a format does in its own way.
type row struct {
	name string

	told  string                          // the instructions
	tools func([]tools.Definition) string // describes the tools; nil: as describeTools does

	keep    pastThoughts
	results func([]messages.ToolOutput) string

	// of a format that is more than marks and what is between them
	syntax func(Format) syntax
	write  func(Format, []messages.AssistantContent) string
	query  func(Format, messages.History) (messages.History, error) // nil: as FormatQuery does

	// of the others: what is read
	calls     []tagPair                                                  // the marks around calls
	body      func(Options, string, int) ([]Part, []Repair, *ParseError) // reads what is between them; nil: Options.readBody
	values    valueForm                                                  // of values in it; zero: as valuesOf finds
	named     []namedForm                                                // calls with a name before a mark
	functions bool                                                       // functions without marks around them are calls
	begins    []string                                                   // more marks that begin calls
	closing   []string                                                   // more marks that end calls
	dropped   []string                                                   // marks that are left out
	stops     []string                                                   // marks that end a reply
	more      func(Options, []tag) []tag                                 // other marks, beside those
	valued    bool                                                       // it reads values without quotes, between tags

	// and what is written
	writeCalls func(Format, []messages.ToolCall) string // calls that follow one another
	behind     string                                   // behind a thought, which is on lines of its own
	separator  string                                   // between two parts
	lines      bool                                     // parts are on lines of their own
}

// With returns the format with these options.
func (f Format) With(o Options) Format {
	f.Options = o
	return f
}

// form returns the row.
func (f Format) form() *row {
	if f.row == nil {
		return Fenced.row
	}
	return f.row
}

// Name implements [Namer].
func (f Format) Name() string { return f.form().name }

// WithTools implements [Tooled].
func (f Format) WithTools(defs []tools.Definition) Policy {
	f.Options = f.withTools(defs)
	return f
}

// ParseResponse implements [Policy].
func (f Format) ParseResponse(text string) (Document, error) { return parse(f.NewParser(), text) }

// NewParser implements [Streamer].
func (f Format) NewParser() Parser {
	if r := f.form(); r.syntax != nil {
		return newMarkParser(r.name, f.Mode, r.syntax(f))
	}
	return newMarkParser(f.Name(), f.Mode, f.marked())
}

// Render implements [Renderer].
func (f Format) Render(parts []messages.AssistantContent) string {
	r := f.form()
	if r.write != nil {
		return r.write(f, parts)
	}
	return f.writeMarked(parts, func(calls []messages.ToolCall) string { return r.writeCalls(f, calls) })
}

// FormatQuery implements [Policy].
func (f Format) FormatQuery(history messages.History) (messages.History, error) {
	r := f.form()
	if r.query != nil {
		return r.query(f, history)
	}
	return f.keep().tell(history, f.Render, r.results)
}

// keep says which past thoughts are told.
func (f Format) keep() pastThoughts {
	if f.ForgetThoughts {
		return thoughtsNever
	}
	return f.form().keep
}

// FormatInstructions implements [Policy].
func (f Format) FormatInstructions(defs []tools.Definition) string {
	r := f.form()
	described := r.tools
	if described == nil {
		described = describeTools
	}
	return instruct(r.told, f.examples(), defs, described(defs))
}

func (f Format) examples() []example { return workedExamples(f.Render) }

// beginMarks returns the marks that begin calls.
func (f Format) beginMarks() []string {
	marks := slices.Clone(f.row.begins)
	for _, call := range f.row.calls {
		marks = append(marks, call.open)
	}
	if f.row.functions && len(f.Tools) > 0 {
		marks = append(marks, functionMark)
	}
	return marks
}

// marked returns the syntax of a format that is marks and what is between them.
func (f Format) marked() *hermesSyntax {
	r, refused := f.row, new(int)
	var tags []tag
	closing := slices.Clone(r.closing)
	for _, form := range r.named {
		tags = append(tags, form.tag(f.Options))
		closing = append(closing, form.closings[0])
	}
	for _, marks := range r.calls {
		ends := finders(marks.close)
		closing = append(closing, marks.close)
		tags = append(tags, tag{marks.open, func(start, after int) block {
			return &callBlock{Options: f.Options, start: start, after: after, ends: ends, refused: refused, body: r.body, values: r.values}
		}})
	}
	if r.functions {
		tags = append(tags, f.functionTags(refused)...)
	}
	for _, mark := range r.dropped {
		tags = append(tags, dropped(mark))
	}
	tags = append(tags, stopping(r.stops...)...)
	if r.more != nil {
		tags = append(tags, r.more(f.Options, tags)...)
	}
	return f.Thoughts.thinking(f.Options, f.beginMarks(), closing, tags...)
}

// writeMarked writes parts in a format that is marks and what is between them.
func (f Format) writeMarked(parts []messages.AssistantContent, calls func([]messages.ToolCall) string) string {
	r, t := f.row, f.Thoughts
	if t == ThoughtsNone {
		parts = slices.DeleteFunc(slices.Clone(parts), isThought)
	}
	marks, escape := t.marks(f.beginMarks()), f.marked().escape
	thought, separator, none := marks.writeInline, r.separator, thoughtTags.open+thoughtTags.close
	if t == ThoughtsAny || r.lines { // of two quotes on one line, what is between them is text
		thought, separator = marks.write, "\n"
	}
	if r.behind != "" {
		thought = func(text string) string { return marks.write(text) + r.behind }
	}
	text := func(text string) string { return unescaping(escape(text)) }
	if r.lines {
		text, none = escape, thoughtTags.write("")+"\n"
	}
	written := writeGroups(parts, separator, text, thought, calls)
	if t == ThoughtsOpen && written != "" && !strings.HasPrefix(written, thoughtTags.open) {
		written = none + written
	}
	return written
}
