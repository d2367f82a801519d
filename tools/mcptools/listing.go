package mcptools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// Listing is what a server offers. Its texts are a stranger's: bounded, without control characters.
type Listing struct {
	Server   string  // its name in the Config
	Title    string  // what it calls itself, with its version
	Protocol string  // the version of MCP spoken with it, such as "2026-07-28"
	Offers   []Offer // in the server's order
	More     bool    // the server's list goes on, and was not read to its end

	// Unknown are the names in Config.Allow and Config.Safety that are none of the server's,
	// sorted. It is nil if there is More.
	Unknown []string
}

// Offer is one tool of a server.
type Offer struct {
	Name        string           // the server's name of the tool; quoted if it has control characters
	ToolName    string           // the name that a model sees
	Definition  tools.Definition // as a run gets it; of a tool that is left out only what is known
	Hints       Hints            // what the server says about the tool, believed or not
	Fingerprint string           // of name, title, description, schemas and hints, for [Pins]
	Pin         Pin              // how the definition compares with Config.Pinned
	LeftOut     string           // why the tool is not among Tools; "" means that it is

	// Unchecked are patterns of the server's schema, sorted, that cannot be checked here, such as
	// ones that look ahead. They are not in the Definition.
	Unchecked []string
}

// Hints are what a server says about the safety of a tool. A nil is not said.
type Hints struct {
	ReadOnly    bool
	Idempotent  bool
	Destructive *bool
	OpenWorld   *bool
}

// Pin says how a definition compares with what was accepted.
type Pin string

// The values of a Pin.
const (
	PinNone    Pin = ""        // nothing is pinned
	PinSame    Pin = "same"    // it is the accepted one
	PinChanged Pin = "changed" // it is another one than was accepted
	PinNew     Pin = "new"     // it is not among the accepted ones
)

// mostPages bounds the pages of a server's list, mostOffers its tools, as a multiple of
// Limits.Tools, and mostListed their bytes, as a multiple of Limits.Message.
const (
	mostPages  = 1000
	mostOffers = 4
	mostListed = 2
)

// stateless is the first version of MCP without sessions. In it, "" is a cursor, and a question of
// a server ends its call.
const stateless = "2026-07-28"

// list reads the server's list of tools.
func (s *Toolset) list(ctx context.Context, l *link) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	ctx, cancel := s.connectTimeout(ctx)
	defer cancel()
	listing := Listing{Server: s.cfg.Name}
	if init := l.session.InitializeResult(); init != nil {
		listing.Protocol = clean(init.ProtocolVersion, 40)
		if init.ServerInfo != nil {
			listing.Title = clean(strings.TrimSpace(init.ServerInfo.Name+" "+init.ServerInfo.Version), 200)
		}
	}
	var all []*mcp.Tool
	cursor, size := "", 0
	for page := 0; ; page++ {
		res, err := l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return s.failure("list its tools", unlessLate(ctx, err))
		}
		next := res.NextCursor
		if next == emptyCursor && listing.Protocol < stateless {
			next = ""
		}
		if next == emptyCursor && cursor == next { // the server means the end
			break
		}
		all = append(all, res.Tools...)
		size += sizeOf(res.Tools)
		if next == "" {
			break
		}
		if page+1 == mostPages || len(all) >= mostOffers*s.cfg.Limits.Tools || size >= mostListed*s.cfg.Limits.Message || next == cursor {
			listing.More = true
			break
		}
		cursor = next
	}
	if most := mostOffers * s.cfg.Limits.Tools; len(all) > most {
		all, listing.More = all[:most], true
	}
	var found []tools.Tool
	listing.Offers, found = s.offers(ctx, all)
	if err := ctx.Err(); err != nil {
		return s.failure("list its tools", unlessLate(ctx, err))
	}
	if !listing.More {
		listing.Unknown = s.unknown(all)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listing, s.tools = listing, found
	return nil
}

// sizeOf returns the bytes of the definitions of tools.
func sizeOf(list []*mcp.Tool) (size int) {
	for _, t := range list {
		size += len(asJSON(t))
	}
	return size
}

// unknown returns the names in Allow and Safety that are none of a server's list.
func (s *Toolset) unknown(list []*mcp.Tool) []string {
	names := slices.Sorted(maps.Keys(s.cfg.Safety))
	names = append(names, s.cfg.Allow...)
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return slices.ContainsFunc(list, func(t *mcp.Tool) bool { return t != nil && t.Name == name })
	})
}

// offers decides which tools of a server's list are offered, until ctx ends.
func (s *Toolset) offers(ctx context.Context, list []*mcp.Tool) (offers []Offer, found []tools.Tool) {
	list = slices.DeleteFunc(slices.Clone(list), func(t *mcp.Tool) bool { return t == nil })
	a := admission{set: s, owner: map[string]string{}, admitted: map[string]bool{}}
	for _, t := range slices.Backward(list) { // the first tool that maps to a name has it
		if name, err := toolName(s.cfg.Prefix, t.Name); err == nil && name != s.cfg.Prefix+t.Name {
			a.owner[name] = t.Name
		}
	}
	for _, t := range list { // a name that stays as it is wins over one that is mapped
		if name, err := toolName(s.cfg.Prefix, t.Name); err == nil && name == s.cfg.Prefix+t.Name {
			a.owner[name] = t.Name
		}
	}
	for _, t := range list {
		if ctx.Err() != nil {
			return nil, nil
		}
		o := s.describe(t)
		if err := a.admit(t, &o); err != nil {
			o.LeftOut = err.Error()
			o.Definition.Description, o.Definition.Parameters = "", nil
		} else {
			found = append(found, &tool{set: s, name: t.Name, def: o.Definition, schema: a.schema})
		}
		offers = append(offers, o)
	}
	return offers, found
}

// describe maps the definition of a tool.
func (s *Toolset) describe(t *mcp.Tool) Offer {
	o := Offer{Name: t.Name, Hints: hintsOf(t), Fingerprint: fingerprint(t)}
	o.Definition = tools.Definition{
		Description: clean(t.Description, s.cfg.Limits.Description),
		Untrusted:   !s.cfg.TrustResults,
		Timeout:     s.cfg.CallTimeout,
		MaxResult:   s.cfg.Limits.Result,
	}
	safety, given := s.cfg.Safety[t.Name]
	if !given {
		if s.cfg.TrustHints {
			safety.ReadOnly, safety.Idempotent = o.Hints.ReadOnly, o.Hints.Idempotent
		}
		safety.NeedsApproval = o.Hints.Destructive != nil && *o.Hints.Destructive && !safety.ReadOnly
	}
	d := &o.Definition
	d.ReadOnly, d.Idempotent, d.Repeatable = safety.ReadOnly, safety.Idempotent, safety.Repeatable
	d.Sequential, d.NeedsApproval = safety.Sequential, safety.NeedsApproval
	switch accepted, ok := s.cfg.Pinned[t.Name]; {
	case s.cfg.Pinned == nil:
	case !ok:
		o.Pin, d.NeedsApproval = PinNew, true
		d.ApprovalNote = fmt.Sprintf("Nobody has accepted this tool of the server %q.", s.cfg.Name)
	case accepted != o.Fingerprint:
		o.Pin, d.NeedsApproval = PinChanged, true
		d.ApprovalNote = fmt.Sprintf("The server %q has changed the definition of this tool after it was accepted.", s.cfg.Name)
	default:
		o.Pin = PinSame
	}
	return o
}

func hintsOf(t *mcp.Tool) Hints {
	a := t.Annotations
	if a == nil {
		return Hints{}
	}
	return Hints{ReadOnly: a.ReadOnlyHint, Idempotent: a.IdempotentHint, Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
}

// fingerprint returns the SHA-256 of everything in a definition that a model or a person decides
// by.
func fingerprint(t *mcp.Tool) string {
	data, err := json.Marshal(struct { // maps are written in the order of their names
		Name, Title, Description string
		Input, Output            any
		Hints                    Hints
	}{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, hintsOf(t)})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// clean returns a stranger's text without control characters other than line feeds and tabs, and
// without characters that change the direction of others or that only models read, cut to so many
// bytes.
func clean(text string, most int) string {
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || isHidden(r):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(text, ""))
	if cut {
		text += "…"
	}
	return text
}

// isHidden reports whether a character is a tag or a selector of variants: nobody sees it, and a
// text can be written with these that models read.
func isHidden(r rune) bool { return r >= 0xE0000 && r <= 0xE0FFF }

// What mend notes for this package in messages of a server.
const (
	emptyCursor = "io.github.segue-go/empty-cursor" // instead of the cursor "", which the SDK takes for none
	needsTask   = "io.github.segue-go/needs-task"   // in the _meta of a tool of which each call must be a task
	schemaText  = "io.github.segue-go/schema-text"  // there, its input schema as it was written: the SDK forgets the order
)

// mended bounds by how many times mend makes a message longer.
const mended = 3

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
		meta := map[string]any{schemaText: string(t["inputSchema"])}
		var execution struct{ TaskSupport string }
		if json.Unmarshal(t["execution"], &execution) == nil && execution.TaskSupport == "required" {
			meta[needsTask] = true
		}
		t["_meta"] = asJSON(meta)
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
