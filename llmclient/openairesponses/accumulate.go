package openairesponses

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// maxItems limits the items of one reply.
const maxItems = 1024

// accumulator builds a reply from one whole response or from the events of a stream.
type accumulator struct {
	wire.Gathered
	decoder

	items   []*output // of the reply, in order
	calls   int       // how many of them are calls
	refused bool
	status  string
	reason  string // of an incomplete response
	usage   messages.Usage
	said    int  // the first of the items of which not all text was handed on
	thought int  // the same, for texts of reasoning
	ended   bool // the response, or the last event of one, has been read
}

var _ wire.Reply = (*accumulator)(nil)

// Decode implements [wire.Reply].
func (a *accumulator) Decode(data []byte, whole bool) (ok, cut bool) {
	if whole {
		a.whole, ok, cut = readAnswer(data)
		return ok, cut
	}
	return a.decode(data), a.Cut()
}

// Take implements [wire.Reply].
func (a *accumulator) Take(name, data []byte, whole bool) (end bool, err *llmclient.Error) {
	switch ans := &a.whole; {
	case !whole:
		a.event.kind = wire.OrElse(a.event.kind, name)
		a.add(&a.event, data)
	case ans.hasOutput || len(ans.status) > 0 || ans.err != nil:
		a.end(ans, "")
	default:
		return true, refined(wire.Lacks(data, "output"))
	}
	return a.ended, wire.TooMany(len(a.items), maxItems, "items")
}

// Finished implements [wire.Reply]: the last event of the response has come.
func (a *accumulator) Finished() bool { return a.ended }

// Broken implements [wire.Reply].
func (a *accumulator) Broken() (kept, came messages.Assistant, used messages.Usage) {
	return a.message(true), a.message(false), a.usage
}

// add adds an event, whose data are there for errors. Several events have the same content: any one
// of them is enough.
func (a *accumulator) add(e *event, data []byte) {
	switch kind := string(e.kind); kind {
	case "response.created", "response.in_progress", "response.queued":
		ans, _, _ := readAnswer(e.response)
		a.Named(ans.id, ans.model)
	case "response.output_item.added":
		a.announce(e)
	case "response.output_item.done":
		a.complete(e)
	case "response.content_part.added", "response.reasoning_summary_part.added", "response.content_part.done", "response.reasoning_summary_part.done":
		a.piece(e)
	case "response.refusal.delta", "response.refusal.done":
		a.refused = a.refused || len(e.delta)+len(e.whole) > 0
		a.text(e, kindMessage, classNone)
	case "response.output_text.delta", "response.output_text.done":
		a.text(e, kindMessage, classNone)
	case "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done":
		a.text(e, kindReasoning, classSummary)
	case "response.reasoning_text.delta", "response.reasoning_text.done":
		a.text(e, kindReasoning, classContent)
	case "response.function_call_arguments.delta":
		o := a.open(e, kindCall)
		o.args = append(o.args, e.delta...)
		a.tell(o, o.args)
	case "response.function_call_arguments.done":
		if o := a.ending(e, kindCall); o != nil {
			o.name = orElse(o.name, e.name)
			a.take(o, e.whole)
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		ans, _, _ := readAnswer(e.response)
		a.end(&ans, strings.TrimPrefix(kind, "response."))
	case "error":
		a.Err = bytes.Clone(data)
	case "":
		a.Err = bytes.Clone(e.err)
	}
}

// text adds a piece of a text, or a part of it as a whole.
func (a *accumulator) text(e *event, kind itemKind, class partClass) {
	if strings.HasSuffix(string(e.kind), ".done") {
		a.ends(e, kind, class, e.whole)
		return
	}
	a.say(a.open(e, kind), class, e.part, e.delta)
}

// end takes a whole response, which may be the last one of a stream; then status is the one that
// the event says. Items that have come before are completed by it.
func (a *accumulator) end(ans *answer, status string) {
	a.Named(ans.id, ans.model)
	a.usage, a.Err, a.ended = ans.usage, bytes.Clone(ans.err), true
	a.status, a.reason = string(ans.status), string(ans.reason)
	if a.status == "" || a.status == "in_progress" && status != "" || status == "failed" {
		a.status = status
	}
	raws := ans.items[:min(len(ans.items), maxItems+1)] // with more, there are too many in any case
	items := make([]item, len(raws))
	for i, raw := range raws {
		items[i] = readItem(raw)
	}
	rest := matchable(a.items, items)
	at := 0
	for i, raw := range raws {
		it := items[i]
		if o := rest.take(&it); o != nil {
			at = max(at, slices.Index(a.items, o)+1)
			a.finish(o, &it, raw)
			continue
		}
		o := a.begin(wire.NoIndex, &it)
		switch last := len(a.items) - 1; {
		case at == last:
			at++
		case o.kind == kindReasoning || o.kind == kindOther: // it belongs to the item behind it
			o.mute = slices.ContainsFunc(a.items[at:], func(o *output) bool { return o.kind == kindReasoning && o.heard > 0 })
			a.items = slices.Insert(a.items[:last:last], at, o)
			a.said, a.thought = min(a.said, at), min(a.thought, at)
			at++
		}
		a.finish(o, &it, raw)
	}
}

// matches are items that came before, which those of the whole response may be.
type matches struct {
	byID map[string]*output // those that have the id of an item of the response
	rest []*output          // the others
}

func matchable(came []*output, items []item) matches {
	m := matches{byID: map[string]*output{}}
	for i := range items {
		if len(items[i].id) > 0 {
			m.byID[string(items[i].id)] = nil
		}
	}
	for _, o := range came {
		if first, known := m.byID[o.id]; known && first == nil {
			m.byID[o.id] = o
			continue
		}
		m.rest = append(m.rest, o)
	}
	return m
}

// take returns which of the items that came an item of the response is, and takes it away: one with
// its id, or else the first of its kind.
func (m *matches) take(it *item) *output {
	kind := kindOf(it.kind)
	if o := m.byID[string(it.id)]; o != nil && o.kind == kind {
		m.byID[o.id] = nil
		return o
	}
	for i, o := range m.rest {
		if o.kind == kind {
			m.rest = slices.Delete(m.rest, i, i+1)
			return o
		}
	}
	return nil
}

// announce begins an item, unless it is open already.
func (a *accumulator) announce(e *event) {
	if e.item == nil {
		return
	}
	it := readItem(e.item)
	o := a.find(e.index, it.id)
	if o == nil || o.kind != kindOf(it.kind) || len(o.callID) > 0 && len(it.callID) > 0 && !bytes.Equal(o.callID, it.callID) {
		o = a.begin(e.index, &it)
	}
	if o.kind == kindOther {
		o.raw = wire.RawJSON(e.item)
	}
	if o.kind == kindCall {
		o.name, o.callID = orElse(o.name, it.name), orElse(o.callID, it.callID)
		o.whole = orElse(o.whole, it.arguments)
		a.tell(o, o.args)
	} else {
		o.announced = it.text(o)
	}
}

// complete takes an item as a whole. One that has come whole before is not taken again.
func (a *accumulator) complete(e *event) {
	if e.item == nil {
		return
	}
	it := readItem(e.item)
	o := a.find(e.index, it.id)
	if o == nil || o.kind != kindOf(it.kind) {
		again := func(o *output) bool { return o.done && o.index == e.index && o.id != "" && o.id == string(it.id) }
		if slices.ContainsFunc(a.items, again) {
			return
		}
		o = a.begin(e.index, &it)
	}
	a.finish(o, &it, e.item)
}

// open returns the open item of an event, or begins one of that kind if there is none.
func (a *accumulator) open(e *event, kind itemKind) *output {
	if o := a.find(e.index, e.itemID); o != nil && o.kind == kind {
		return o
	}
	return a.begin(e.index, &item{kind: []byte(kind), id: e.itemID})
}

// ending is open for an event that ends a part of an item. It returns nil if the item has ended.
func (a *accumulator) ending(e *event, kind itemKind) *output {
	open := a.find(e.index, e.itemID)
	ended := func(o *output) bool {
		return o.done && o.kind == kind && (open == nil && o.index == e.index && e.index != wire.NoIndex || o.id != "" && o.id == string(e.itemID))
	}
	if (open == nil || open.id != string(e.itemID)) && slices.ContainsFunc(a.items, ended) {
		return nil
	}
	return a.open(e, kind)
}

// find returns the newest open item with that index, and with that id if there is one; or else with
// that id alone; nil if there is none. Servers give several items one index, or an item several
// ids.
func (a *accumulator) find(index int64, id []byte) *output {
	var at, same *output
	for _, o := range slices.Backward(a.items) {
		is, has := !o.done && o.index == index && index != wire.NoIndex, !o.done && len(id) > 0 && o.id == string(id)
		switch {
		case is && has:
			return o
		case is && at == nil:
			at = o
		case has && same == nil:
			same = o
		}
	}
	return cmp.Or(at, same)
}

func (a *accumulator) begin(index int64, it *item) *output {
	o := &output{kind: kindOf(it.kind), index: index, id: string(it.id)}
	if o.kind == kindCall {
		o.number = a.calls
		a.calls++
	}
	a.items = append(a.items, o)
	return o
}

// message returns the message so far. If the reply was cut, an incomplete call at its end is left
// out.
func (a *accumulator) message(cut bool) messages.Assistant {
	items := a.items
	if n := len(items); cut && n > 0 && items[n-1].kind == kindCall && !items[n-1].complete() {
		items = items[:n-1]
	}
	var m messages.Assistant
	var calls []messages.ToolCall
	var phases, breaks, unknown [][]byte
	phased, broken, called := false, false, false
	for i, o := range items {
		switch o.kind {
		case kindMessage:
			unknown = append(unknown, o.unknown...)
			if o.text.Len() > 0 {
				said := messages.Text{Text: o.text.String(), Citations: o.citations}
				parted := !called && a.apart(i) // behind a call, Text of the message does it
				if parted {
					said = behindBreak(said)
				}
				m.Content = append(m.Content, said)
				breaks, broken, called = append(breaks, strconv.AppendBool(nil, parted)), broken || parted, false
				phases, phased = append(phases, orElse(o.phase, []byte("null"))), phased || o.phase != nil
			}
		case kindCall:
			call := a.Identified(o.tool(), calls)
			calls, called = append(calls, call), true
			m.Content = append(m.Content, call)
		default:
			if t := o.thought(); t.Text != "" || t.Extras != nil {
				m.Content = append(m.Content, t)
			}
		}
	}
	if !phased {
		phases = nil
	}
	if !broken {
		breaks = nil
	}
	m.Extras = extrasOf(map[string][][]byte{extraPhases: phases, extraBreaks: breaks, extraParts: unknown})
	return m
}

// behindBreak puts a break before a text, so that it is not glued to the one before it. The places
// of its citations move along.
func behindBreak(t messages.Text) messages.Text {
	t.Text = paragraph + t.Text
	t.Citations = slices.Clone(t.Citations)
	for i := range t.Citations {
		if c := &t.Citations[i]; c.End > 0 {
			c.Start, c.End = c.Start+len(paragraph), c.End+len(paragraph)
		}
	}
	return t
}

// extrasOf returns lists as JSON by their names, without those that are empty; nil if all are.
func extrasOf(lists map[string][][]byte) messages.Extras {
	var extras messages.Extras
	for name, list := range lists {
		if len(list) == 0 {
			continue
		}
		if extras == nil {
			extras = messages.Extras{}
		}
		extras[name] = append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
	}
	return extras
}
