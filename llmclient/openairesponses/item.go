package openairesponses

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	part      int64     // of a reasoning item: the last one that came
	phase     []byte    // of a message, raw
	citations []messages.Citation
	unknown   [][]byte // parts of a message that are neither a text nor a refusal, raw

	number       int // of a call among the calls
	callID, name []byte
	args         []byte
	told         int    // how many bytes of args were handed on
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

// finish takes an item as a whole. What has come of it in pieces stays as it is, because it was
// handed on; the rest is handed on now. The arguments of a call are those of the whole.
func (a *accumulator) finish(o *output, it *item, raw []byte) {
	o.done, o.incomplete = true, string(it.status) == "incomplete"
	switch o.kind {
	case kindMessage:
		o.phase = bytes.Clone(it.phase)
		a.rest(o, joined(it.content, ""))
		a.handOn(o.kind, false)
		for i := range it.content {
			p := &it.content[i]
			a.refused = a.refused || p.kind == partRefusal && len(p.text) > 0
			if p.kind == partUnknown {
				o.unknown = append(o.unknown, bytes.Clone(p.raw))
			}
		}
		o.citations = citations(it.content, o.text.String())
	case kindReasoning:
		o.raw = bytes.Clone(raw)
		whole := joined(it.summary, paragraph)
		if o.class == classContent || o.class == classNone && whole == "" {
			whole = joined(it.content, paragraph)
		}
		a.rest(o, whole)
		a.handOn(o.kind, false)
	case kindCall:
		o.name, o.callID = orElse(o.name, it.name), orElse(o.callID, it.callID)
		if len(it.arguments) > 0 && !bytes.Equal(o.args, it.arguments) {
			if !bytes.HasPrefix(it.arguments, o.args) {
				o.told = len(it.arguments) // other pieces were told: the rest would not fit them
			}
			o.args = bytes.Clone(it.arguments)
		}
		o.keep(it.others)
		a.tell(o)
	default:
		o.raw = bytes.Clone(raw)
	}
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

// rest writes what has not come yet of the whole text of an item.
func (a *accumulator) rest(o *output, whole string) {
	if rest, ok := strings.CutPrefix(whole, o.text.String()); ok {
		a.write(o, rest)
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
	if string(e.kind) == "response.content_part.added" {
		class = classContent
	}
	if o.kind == kindMessage {
		a.refused = a.refused || p.kind == partRefusal && len(p.text) > 0
		a.write(o, string(p.text))
	}
	if o.kind == kindReasoning {
		a.think(o, class, e.part, p.text)
	}
}

// think adds a piece of the text of a reasoning item, whose parts are paragraphs. Of its two
// classes of parts, the one counts that comes first.
func (a *accumulator) think(o *output, class partClass, part int64, text []byte) {
	if len(text) == 0 || o.class != classNone && o.class != class {
		return
	}
	if o.class == class && o.part != part {
		text = append([]byte(paragraph), text...)
	}
	o.class, o.part = class, part
	a.write(o, string(text))
}

// write appends text to an item.
func (a *accumulator) write(o *output, text string) {
	if text != "" && !o.mute {
		o.text.WriteString(text)
		a.handOn(o.kind, false)
	}
}

// handOn passes to onDelta what has come of the texts of messages, or of reasoning, in the order of
// the items: what comes of an item before the one ahead of it is whole waits, unless all is to be
// handed on. The pieces share the memory of the whole, which is never written again.
func (a *accumulator) handOn(kind itemKind, all bool) {
	at, delta := &a.thought, llmclient.DeltaThought
	if kind == kindMessage {
		at, delta = &a.said, llmclient.DeltaText
	}
	for ; *at < len(a.items); *at++ {
		o := a.items[*at]
		if o.kind != kind {
			continue
		}
		text := o.text.String()
		if a.onDelta != nil && len(text) > o.heard {
			if kind == kindMessage && o.heard == 0 && a.apart(*at) {
				a.onDelta(llmclient.Delta{Kind: delta, Text: paragraph})
			}
			piece := text[o.heard:]
			o.heard = len(text)
			a.onDelta(llmclient.Delta{Kind: delta, Text: piece})
		}
		if !o.done && !all {
			return
		}
	}
}

// apart reports whether the text of a message stands behind that of another one, and neither has a
// blank there, so that both are paragraphs.
func (a *accumulator) apart(at int) bool {
	first, _ := utf8.DecodeRuneInString(a.items[at].text.String())
	for _, before := range slices.Backward(a.items[:at]) {
		if before.kind == kindMessage && before.text.Len() > 0 {
			last, _ := utf8.DecodeLastRuneInString(before.text.String())
			return !unicode.IsSpace(last) && !unicode.IsSpace(first)
		}
	}
	return false
}

// tell hands on what has come of the arguments of a call, once the tool is known.
func (a *accumulator) tell(o *output) {
	if a.onCall == nil || len(o.name) == 0 || len(o.args) <= o.told {
		return
	}
	piece := string(o.args[o.told:])
	o.told = len(o.args)
	a.onCall(llmclient.CallDelta{Index: o.number, Tool: string(o.name), Text: piece})
}

// keep keeps the fields of a call that stand for themselves.
func (o *output) keep(others []member) {
	if len(others) == 0 {
		return
	}
	o.others = []byte{'{'}
	for _, m := range others {
		o.others = append(wire.AppendKey(o.others, string(m.name)), m.raw...)
	}
	o.others = append(o.others, '}')
}

// whole reports whether a call is complete.
func (o *output) whole() bool { return len(o.name) > 0 && !o.incomplete && wire.ValidJSON(o.args) }

// tool returns a call in the form of a message part.
func (o *output) tool() messages.ToolCall {
	t := messages.ToolCall{ID: string(orElse(o.callID, []byte(o.id))), Name: string(o.name), Arguments: string(o.args)}
	if args := bytes.TrimSpace(o.args); len(args) == 0 || string(args) == "null" {
		t.Arguments = "{}"
	}
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
