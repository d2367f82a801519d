package openairesponses

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// output is an item of a reply that is being built.
type output struct {
	kind       itemKind
	index      int64 // output_index
	id         string
	done       bool // it has come as a whole
	incomplete bool
	raw        []byte // as it came whole, of a reasoning item and of one of another kind

	text      strings.Builder
	heard     int       // how many bytes of text were handed on
	mute      bool      // its text is left out, because what stands behind it was handed on before
	class     partClass // of a reasoning item: which of its texts count
	part      int64     // the last one that came
	from      int       // where the text of that part begins
	announced string    // the text with which the item began
	differs   bool      // what was told of the text or of the arguments is not the same
	phase     []byte    // of a message, raw
	citations []messages.Citation
	unknown   [][]byte // parts of a message that are neither a text nor a refusal, raw

	number       int // of a call among the calls
	callID, name []byte
	args         []byte // in pieces
	whole        []byte // the arguments, as one event or more have them
	told         int    // how many bytes of the arguments were handed on
	others       []byte // other fields of a call: an object, raw
}

// itemKind is the type of an item.
type itemKind string

const (
	kindMessage   itemKind = "message"
	kindReasoning itemKind = "reasoning"
	kindCall      itemKind = "function_call"
	kindOther     itemKind = "" // of every other type
)

func kindOf(name []byte) itemKind {
	switch kind := itemKind(name); kind {
	case kindMessage, kindReasoning, kindCall:
		return kind
	default:
		return kindOther
	}
}

// partClass is one of the two kinds of texts that a reasoning item has.
type partClass uint8

const (
	classNone    partClass = iota
	classSummary           // summaries, of OpenAI
	classContent           // the reasoning itself, of open models
)

// finish takes an item as a whole, which may have come whole before. What has come of it stays as
// it is, because it was handed on; the rest is handed on now.
func (a *accumulator) finish(o *output, it *item, raw []byte) {
	again := o.done
	o.done, o.incomplete = true, string(it.status) == "incomplete"
	if !again && (o.kind == kindReasoning || o.kind == kindOther) {
		o.raw = wire.RawJSON(raw)
	}
	switch o.kind {
	case kindMessage:
		o.phase = wire.RawJSON(orElse(o.phase, it.phase))
		a.rest(o, 0, it.text(o))
		a.handOn(o.kind, false)
		for i := range it.content {
			p := &it.content[i]
			a.refused = a.refused || p.kind == partRefusal && len(p.text) > 0
			if p.kind == partUnknown && !again {
				o.unknown = append(o.unknown, wire.RawJSON(p.raw))
			}
		}
		if o.citations == nil {
			o.citations = citations(it.content, o.text.String())
		}
	case kindReasoning:
		a.rest(o, 0, it.text(o))
		a.handOn(o.kind, false)
	case kindCall:
		o.name, o.callID = orElse(o.name, it.name), orElse(o.callID, it.callID)
		if !again {
			o.keep(it.others)
		}
		a.take(o, it.arguments)
	case kindOther:
	}
}

// text returns the text of an item for o, which is a message or a reasoning item.
func (it *item) text(o *output) string {
	if o.kind == kindMessage {
		return joined(it.content, "")
	}
	summary := joined(it.summary, paragraph)
	if o.class == classContent || o.class == classNone && summary == "" {
		return joined(it.content, paragraph)
	}
	return summary
}

// take takes the arguments of a call as one event has them, and hands on what is new.
func (a *accumulator) take(o *output, whole []byte) {
	joined, agree := wire.JoinArguments(o.whole, whole)
	o.whole, o.differs = bytes.Clone(joined), o.differs || !agree
	if args, _ := o.arguments(); bytes.HasPrefix(args, o.args) { // else the rest would not fit what was told
		a.tell(o, args)
	}
}

// arguments returns the arguments of a call, and whether all that was told of them agrees.
func (o *output) arguments() (args []byte, agree bool) {
	args, agree = wire.JoinArguments(o.args, o.whole)
	return args, agree && !o.differs
}

// paragraph is what stands between the texts of one reasoning item, and between two messages.
const paragraph = "\n\n"

func joined(list []part, between string) string {
	var b strings.Builder
	for i := range list {
		if p := &list[i]; len(p.text) > 0 {
			if b.Len() > 0 {
				b.WriteString(between)
			}
			b.Write(p.text)
		}
	}
	return b.String()
}

// rest writes what has not come yet of the whole text of an item, or of its part that begins at a
// byte. Blanks at the ends say nothing: servers cut them. Many may be told often: few are looked
// at.
func (a *accumulator) rest(o *output, from int, whole string) {
	const most = 4 << 10
	came := o.text.String()[from:]
	lead := came[:min(len(came), most)]
	bare := came[len(lead)-len(strings.TrimLeftFunc(lead, unicode.IsSpace)):]
	rest, ok := strings.CutPrefix(whole, came)
	if !ok {
		rest, ok = strings.CutPrefix(strings.TrimSpace(whole), bare)
	}
	switch {
	case ok:
		a.write(o, rest)
	case !o.mute && !strings.HasPrefix(bare, strings.TrimSpace(whole)):
		o.differs = true
	}
}

// ends takes a part of a text as a whole. One whose item has ended, or that is not the last one, is
// left to the item.
func (a *accumulator) ends(e *event, kind itemKind, class partClass, whole []byte) {
	if len(whole) == 0 {
		return
	}
	o := a.ending(e, kind)
	if o == nil {
		return
	}
	switch came := o.text.String()[o.from:]; {
	case o.class != class && o.class != classNone:
	case e.part == o.part && came != "":
		a.rest(o, o.from, string(whole))
	case e.part > o.part && came != string(whole), came == "":
		a.say(o, class, e.part, whole)
	}
}

// piece takes the beginning of a part, which nearly always is empty.
func (a *accumulator) piece(e *event) {
	o := a.find(e.index, e.itemID)
	if o == nil || e.piece == nil {
		return
	}
	p := readPart(e.piece)
	class := classSummary
	if strings.HasPrefix(string(e.kind), "response.content_part.") {
		class = classContent
	}
	switch o.kind {
	case kindMessage:
		class = classNone
		a.refused = a.refused || p.kind == partRefusal && len(p.text) > 0
	case kindReasoning:
	default:
		return
	}
	if strings.HasSuffix(string(e.kind), ".done") {
		a.ends(e, o.kind, class, p.text)
		return
	}
	a.say(o, class, e.part, p.text)
}

// say adds a piece of the text of an item. The parts of a reasoning item are paragraphs; of its two
// classes of parts, the one counts that comes first.
func (a *accumulator) say(o *output, class partClass, part int64, text []byte) {
	if len(text) == 0 || o.class != classNone && o.class != class {
		return
	}
	if o.text.Len() > 0 && o.part != part {
		if o.kind == kindReasoning {
			a.write(o, paragraph)
		}
		o.from = o.text.Len()
	}
	o.class, o.part = class, part
	a.write(o, string(text))
}

// write appends text to an item. An item that has ended takes none any more once a text behind it
// was handed on.
func (a *accumulator) write(o *output, text string) {
	if text == "" || o.mute {
		return
	}
	if at, next := slices.Index(a.items, o), a.next(o.kind); o.done && at < *next {
		heard := func(later *output) bool { return later.kind == o.kind && later.text.Len() > 0 }
		if slices.ContainsFunc(a.items[at+1:*next], heard) {
			o.differs = true
			return
		}
		*next = at
	}
	o.text.WriteString(text)
	a.handOn(o.kind, false)
}

// next returns the first of the items of which not all text was handed on.
func (a *accumulator) next(kind itemKind) *int {
	if kind == kindMessage {
		return &a.said
	}
	return &a.thought
}

// handOn shows what has come of the texts of messages, or of reasoning, in the order of
// the items: what comes of an item before the one ahead of it is whole waits, unless all is to be
// handed on. The pieces share the memory of the whole, which is never written again.
func (a *accumulator) handOn(kind itemKind, all bool) {
	at, delta := a.next(kind), llmclient.DeltaThought
	if kind == kindMessage {
		delta = llmclient.DeltaText
	}
	for ; *at < len(a.items); *at++ {
		o := a.items[*at]
		if o.kind != kind {
			continue
		}
		text := o.text.String()
		if len(text) > o.heard {
			if kind == kindMessage && o.heard == 0 && a.apart(*at) {
				a.Show(delta, paragraph)
			}
			a.Show(delta, text[o.heard:])
			o.heard = len(text)
		}
		if !o.done && !all {
			return
		}
	}
}

// apart reports whether the text of a message stands behind that of another one, and neither has a
// blank there, so that both are paragraphs.
func (a *accumulator) apart(at int) bool {
	for _, before := range slices.Backward(a.items[:at]) {
		if before.kind == kindMessage && before.text.Len() > 0 {
			return wire.Apart(before.text.String(), a.items[at].text.String())
		}
	}
	return false
}

// tell hands on what is new in the arguments of a call, once the tool is known.
func (a *accumulator) tell(o *output, args []byte) {
	if a.OnCall == nil || len(o.name) == 0 || len(args) <= o.told {
		return
	}
	piece := string(args[o.told:])
	o.told = len(args)
	a.OnCall(llmclient.CallDelta{Index: o.number, ID: string(orElse(o.callID, []byte(o.id))), Tool: string(o.name), Text: piece})
}

// keep keeps the fields of a call that stand for themselves.
func (o *output) keep(others []member) {
	if len(others) == 0 {
		return
	}
	o.others = []byte{'{'}
	for _, m := range others {
		o.others = append(wire.AppendKey(o.others, string(m.name)), wire.RawJSON(m.raw)...)
	}
	o.others = append(o.others, '}')
}

// whole reports whether a call is complete.
func (o *output) complete() bool {
	args, agree := o.arguments()
	return len(o.name) > 0 && !o.incomplete && agree && wire.ValidJSON(args)
}

// tool returns a call in the form of a message part.
func (o *output) tool() messages.ToolCall {
	args, _ := o.arguments()
	t := messages.ToolCall{ID: string(orElse(o.callID, []byte(o.id))), Name: string(o.name), Arguments: wire.Arguments(args)}
	if o.others != nil {
		t.Extras = messages.Extras{extraCall: o.others}
	}
	return t
}

// thought returns a reasoning item, or one of a kind that messages do not have, in the form of a
// message part.
func (o *output) thought() messages.Thought {
	t := messages.Thought{Text: o.text.String()}
	switch {
	case o.raw == nil:
	case o.kind == kindReasoning:
		t.Extras = messages.Extras{extraReasoning: o.raw}
	default:
		t.Extras = messages.Extras{extraItem: o.raw}
	}
	return t
}

func orElse(b, other []byte) []byte {
	if len(b) > 0 {
		return b
	}
	return bytes.Clone(other)
}
