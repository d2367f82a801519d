package markdownpolicy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Chain tries several formats for each reply. The policy whose first call or error begins earliest
// reads the whole reply. At the same position a call counts before an error; then the order of the
// chain decides. Without a call, the earliest thought decides. Without a thought, the reply is
// text. [Document].Policy names the policy that matched.
//
// Instructions, rendering, schemas and stop sequences are those of the first policy. Rendered text
// is read back correctly, unless it contains a call or thought of another policy of the chain,
// which the first policy does not escape. An empty chain means [Fenced] alone.
type Chain []Policy

// Name returns "chain".
func (Chain) Name() string { return "chain" }

// WithTools implements [Tooled].
func (c Chain) WithTools(defs []tools.Definition) Policy {
	own := make(Chain, len(c))
	for i, p := range c {
		own[i] = withTools(p, defs)
	}
	return own
}

func (c Chain) first() Policy {
	if len(c) == 0 {
		return Fenced
	}
	return c[0]
}

// FormatInstructions implements [Policy].
func (c Chain) FormatInstructions(defs []tools.Definition) string {
	return c.first().FormatInstructions(defs)
}

// FormatQuery implements [Policy].
func (c Chain) FormatQuery(h messages.History) (messages.History, error) {
	return c.first().FormatQuery(h)
}

// Render implements [Renderer]. If the first policy is not a Renderer, it renders as [Fenced] does.
func (c Chain) Render(parts []messages.AssistantContent) string { return render(c.first(), parts) }

// ReplySchema implements [Schemer].
func (c Chain) ReplySchema(defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage {
	return replySchema(c.first(), defs, must, answer)
}

// Stop implements [Stopper].
func (c Chain) Stop() []string { return stops(c.first()) }

// ParseResponse implements [Policy].
func (c Chain) ParseResponse(text string) (Document, error) { return parse(c.NewParser(), text) }

// NewParser implements [Streamer].
func (c Chain) NewParser() Parser {
	p := &chainParser{links: []*link{newLink(c.first())}}
	for _, policy := range c[min(1, len(c)):] {
		p.links = append(p.links, newLink(policy))
	}
	return p
}

// newParser returns a parser for any policy. If the policy is not a Streamer, the parser reads the
// reply as a whole.
func newParser(p Policy) Parser {
	if s, ok := p.(Streamer); ok {
		return s.NewParser()
	}
	return &wholeParser{policy: p}
}

func nameOf(p Policy) string {
	if n, ok := p.(Namer); ok {
		return n.Name()
	}
	return ""
}

func stops(p Policy) []string {
	if s, ok := p.(Stopper); ok {
		return s.Stop()
	}
	return nil
}

func render(p Policy, parts []messages.AssistantContent) string {
	if r, ok := p.(Renderer); ok {
		return r.Render(parts)
	}
	return Fenced.Render(parts)
}

// wholeParser is a [Parser] for a policy that is not a Streamer.
type wholeParser struct {
	policy Policy
	text   strings.Builder
}

func (p *wholeParser) Write(piece string) []Part {
	p.text.WriteString(piece)
	return nil
}

func (p *wholeParser) Close() (Document, []Part, error) {
	doc, err := p.policy.ParseResponse(p.text.String())
	return doc, doc.Parts, err
}

// chainParser runs the parsers of a chain side by side until it is certain which one counts.
type chainParser struct {
	links  []*link
	winner *link
	differ bool // the links released texts that begin differently
}

// link is a parser of a chain.
type link struct {
	Parser
	name  string
	parts []Part // released by the parser, but not yet by the chain
	call  int    // where its first call begins; -1 if none was released
	reach int    // everything that begins before it has been released
}

func newLink(p Policy) *link { return &link{Parser: newParser(p), name: nameOf(p), call: -1} }

// take adds parts that the parser released.
func (l *link) take(parts []Part) {
	l.parts = append(l.parts, parts...)
	if l.call < 0 {
		l.call = firstStart[messages.ToolCall](parts)
	}
	if n := len(parts); n > 0 {
		l.reach = parts[n-1].End
	}
}

// firstStart returns the position of the first part of a kind, or -1.
func firstStart[C messages.AssistantContent](parts []Part) int {
	for _, p := range parts {
		if _, ok := p.Content.(C); ok {
			return p.Start
		}
	}
	return -1
}

// front returns the next text, or "".
func (l *link) front() string {
	if len(l.parts) == 0 {
		return ""
	}
	t, _ := l.parts[0].Content.(messages.Text)
	return t.Text
}

// cut removes n bytes from the next text.
func (l *link) cut(n int) Part {
	head := l.parts[0]
	text := l.front()
	if n == len(text) {
		l.parts = l.parts[1:]
		return head
	}
	rest := head
	head.Content, rest.Content = messages.Text{Text: text[:n]}, messages.Text{Text: text[n:]}
	head.End = min(head.End, head.Start+n)
	rest.Start = head.End
	l.parts[0] = rest
	return head
}

// rest returns the parts that the chain has not released.
func (l *link) rest() []Part {
	parts := l.parts
	l.parts = nil
	return parts
}

// Write implements [Parser].
func (p *chainParser) Write(piece string) []Part {
	if p.winner != nil {
		return p.winner.Write(piece)
	}
	for _, l := range p.links {
		l.take(l.Write(piece))
	}
	if p.winner = p.certain(); p.winner != nil {
		return p.winner.rest()
	}
	return p.agreed()
}

// certain returns the link that certainly matches earliest, or nil.
func (p *chainParser) certain() *link {
	if len(p.links) == 1 {
		return p.links[0]
	}
	var best *link
	for _, l := range p.links {
		if l.call >= 0 && (best == nil || l.call < best.call) {
			best = l
		}
	}
	if best == nil {
		return nil
	}
	for _, l := range p.links {
		if l.call < 0 && l.reach <= best.call {
			return nil
		}
	}
	return best
}

// agreed releases the text that all links begin with.
func (p *chainParser) agreed() (parts []Part) {
	for !p.differ && !slices.ContainsFunc(p.links, func(l *link) bool { return l.front() == "" }) {
		text := p.links[0].front()
		for _, l := range p.links[1:] {
			text = text[:commonPrefix(text, l.front())]
		}
		if p.differ = text == ""; p.differ {
			break
		}
		parts = append(parts, p.links[0].cut(len(text)))
		for _, l := range p.links[1:] {
			l.cut(len(text))
		}
	}
	return parts
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Close implements [Parser].
func (p *chainParser) Close() (Document, []Part, error) {
	if p.winner != nil {
		doc, rest, err := p.winner.Close()
		doc.Policy = matched(p.winner.name, doc, err)
		return doc, rest, err
	}
	var best *link
	var bestDoc Document
	var bestErr error
	var bestRank [2]int
	for _, l := range p.links {
		doc, rest, err := l.Close()
		l.take(rest)
		if rank := rankOf(doc, err); best == nil || rank[0] < bestRank[0] || rank[0] == bestRank[0] && rank[1] < bestRank[1] {
			best, bestDoc, bestErr, bestRank = l, doc, err, rank
		}
	}
	bestDoc.Policy = matched(best.name, bestDoc, bestErr)
	return bestDoc, best.rest(), bestErr
}

// The ranks of what a policy found, the best first.
const (
	rankCall = iota // or an error
	rankThought
	rankNone
)

// rankOf returns how early a policy found something: less is earlier. Positions are doubled so that
// an error ranks after a call at the same position.
func rankOf(doc Document, err error) [2]int {
	if at := firstStart[messages.ToolCall](doc.Parts); at >= 0 {
		return [2]int{rankCall, 2 * at}
	}
	if err != nil {
		at := 0
		if e, ok := errors.AsType[*ParseError](err); ok {
			at = e.Offset
		}
		return [2]int{rankCall, 2*at + 1}
	}
	if at := firstStart[messages.Thought](doc.Parts); at >= 0 {
		return [2]int{rankThought, at}
	}
	return [2]int{rankNone, 0}
}

// matched returns the name of the policy that read a reply, or "" if the reply was only text.
func matched(name string, doc Document, err error) string {
	switch {
	case rankOf(doc, err)[0] == rankNone:
		return ""
	case doc.Policy != "":
		return doc.Policy
	default:
		return name
	}
}
