package markdownpolicy

import (
	"errors"
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Chain reads a reply in whichever of its formats comes first in it: the policy whose first call,
// or whose error, begins earliest reads the whole reply. A call counts before an error at the same
// place, then the order of the chain decides. Where there is no call the earliest thought decides,
// and where there is none either, the reply is text. Which policy it was stands in
// [Document].Policy.
//
// Instructions, rendering and stop sequences are those of the first policy. What it renders is read
// back unless a text in it holds a call or a thought of another policy of the chain, for which the
// first knows no escape. An empty chain is that of [Fenced] alone.
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
		return Fenced{}
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

// Render implements [Renderer]. Where the first policy is none, it is that of [Fenced].
func (c Chain) Render(parts []messages.AssistantContent) string { return render(c.first(), parts) }

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

// newParser returns a parser for any policy: one that cannot read pieces is given the whole.
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
	return Fenced{}.Render(parts)
}

// wholeParser is a [Parser] for a policy that has none.
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

// chainParser runs the parsers of a chain next to each other until it is certain which one counts.
type chainParser struct {
	links  []*link
	winner *link
	differ bool // the links released texts that do not begin alike
}

// link is a parser of a chain.
type link struct {
	Parser
	name  string
	parts []Part // released by it, and not by the chain yet
	call  int    // where its first call begins; -1: none was released
	reach int    // it has released all that begins before
}

func newLink(p Policy) *link { return &link{Parser: newParser(p), name: nameOf(p), call: -1} }

// take takes what the parser released.
func (l *link) take(parts []Part) {
	l.parts = append(l.parts, parts...)
	if l.call < 0 {
		l.call = firstStart[messages.ToolCall](parts)
	}
	if n := len(parts); n > 0 {
		l.reach = parts[n-1].End
	}
}

// firstStart returns where the first part of a kind begins, or -1.
func firstStart[C messages.AssistantContent](parts []Part) int {
	for _, p := range parts {
		if _, ok := p.Content.(C); ok {
			return p.Start
		}
	}
	return -1
}

// front returns the text that comes next, or "".
func (l *link) front() string {
	if len(l.parts) == 0 {
		return ""
	}
	t, _ := l.parts[0].Content.(messages.Text)
	return t.Text
}

// cut takes n bytes from the text that comes next.
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

// rest returns what the chain has not released.
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

// certain returns the link that no other can be earlier than, or nil.
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

// What a policy found, the better first.
const (
	rankCall = iota // or an error
	rankThought
	rankNone
)

// rankOf says how early a policy found something: the less, the earlier. Twice the place leaves
// room for an error behind a call at the same place.
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

// matched returns the name of the policy that read a reply, or "" if there was nothing but text.
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
