package openaichat

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// maxCalls limits the tool calls of one reply.
const maxCalls = 1024

// accumulator builds a reply from one whole answer or from the chunks of a stream.
type accumulator struct {
	wire.Gathered
	decoder decoder

	index    int64 // of the choice in use; noIndex before the first
	segments []*segment
	apart    bool // a call has come since the last text
	refused  bool
	calls    calls
	thoughts thoughtFields
	sources  sources
	finish   string
	usage    usage
	endless  bool // the end of the connection alone is the end of the answer
}

var _ wire.Reply = (*accumulator)(nil)

// Decode implements [wire.Reply].
func (a *accumulator) Decode(data []byte, whole bool) (ok, cut bool) {
	want := a.index
	if whole {
		want = noIndex
	}
	return a.decoder.decode(data, want), a.decoder.Cut()
}

// Take implements [wire.Reply].
func (a *accumulator) Take(_, data []byte, whole bool) (end bool, err *llmclient.Error) {
	ans := &a.decoder.answer
	a.add(ans, whole)
	switch {
	case ans.hasChoice, whole && a.Err != nil:
	case whole:
		return true, wire.Lacks(data, "choice")
	case a.Err != nil || saysError(data):
		a.Err = bytes.Clone(data) // with what stands beside the error
	}
	return false, wire.TooMany(len(a.calls.list), maxCalls, "tool calls")
}

// Finished implements [wire.Reply]: the finish reason has come.
func (a *accumulator) Finished() bool { return a.finish != "" }

// Broken implements [wire.Reply].
func (a *accumulator) Broken() (kept, came messages.Assistant, used messages.Usage) {
	return a.message(true), a.message(false), a.usage.Usage
}

// segment is a run of text or of thought.
type segment struct {
	kind  llmclient.DeltaKind
	text  strings.Builder
	calls int // of a text that is apart from the one before: how many calls came before it
}

// add adds a whole answer or a chunk of one.
func (a *accumulator) add(ans *answer, whole bool) {
	a.Named(ans.id, ans.model)
	if ans.usage.known {
		a.usage = ans.usage
	}
	a.sources.add(ans)
	if ans.hasChoice {
		a.choice(ans, whole)
	}
	a.Err = bytes.Clone(ans.err)
}

// choice adds a choice. A chunk may repeat the whole message beside the delta, or at the end; of it
// only those calls and arguments count that have not come.
func (a *accumulator) choice(ans *answer, whole bool) {
	a.index = ans.index
	switch {
	case ans.hasDelta && (!whole || !ans.hasMessage):
		a.reply(&ans.delta, false)
	case ans.hasMessage && len(a.segments) == 0 && len(a.calls.list) == 0:
		a.reply(&ans.message, true)
	}
	if ans.hasMessage && !whole {
		a.supply(ans.message.calls)
	}
	if len(ans.finish) > 0 && a.finish != string(ans.finish) {
		a.finish = string(ans.finish)
	}
}

// supply adds what the calls of a whole message have beyond those that have come.
func (a *accumulator) supply(list []callPiece) {
	came := a.calls.list
	for i := range list {
		at := supply(came, i, &list[i])
		if at < 0 {
			at = a.calls.add(&list[i], true)
		}
		a.tell(at)
	}
}

func (a *accumulator) reply(r *reply, whole bool) {
	a.write(llmclient.DeltaThought, a.thoughts.add(r, whole))
	a.write(llmclient.DeltaText, r.content)
	for _, p := range r.parts {
		switch p.kind {
		case partThought:
			a.write(llmclient.DeltaThought, p.text)
		case partRefusal:
			a.refuse(p.text)
		case partReference:
			a.sources.refer(p.text)
		default:
			a.write(llmclient.DeltaText, p.text)
		}
	}
	a.refuse(r.refusal)
	a.sources.annotate(r.annotations)
	a.sources.annotate(r.context)
	for i := range r.calls {
		a.tell(a.calls.add(&r.calls[i], whole))
		a.apart = true
	}
	a.calls.legacy(&r.function)
}

func (a *accumulator) refuse(text []byte) {
	if len(text) > 0 {
		a.refused = true
		a.write(llmclient.DeltaText, text)
	}
}

// write appends text and shows it. The piece shares the memory of the whole, which is
// never written again.
func (a *accumulator) write(kind llmclient.DeltaKind, text []byte) {
	if len(text) == 0 {
		return
	}
	var s *segment
	calls := a.before(kind, text)
	if n := len(a.segments); n > 0 && a.segments[n-1].kind == kind && calls == 0 {
		s = a.segments[n-1]
	} else {
		s = &segment{kind: kind, calls: calls}
		a.segments = append(a.segments, s)
	}
	if calls > 0 {
		a.Show(kind, "\n\n") // as Message.Text joins texts with a call between them
	}
	from := s.text.Len()
	s.text.Write(text)
	a.Show(kind, s.text.String()[from:])
}

// before returns how many calls stand between a text and the one before it; 0 if there is none, if
// the last call is still being written, or if there is a blank between the texts anyway.
func (a *accumulator) before(kind llmclient.DeltaKind, text []byte) int {
	if kind != llmclient.DeltaText || !a.apart {
		return 0
	}
	a.apart = false
	for _, s := range slices.Backward(a.segments) {
		if s.kind != kind {
			continue
		}
		if wire.Apart(s.text.String(), string(text)) && a.calls.complete() {
			return len(a.calls.list)
		}
		break
	}
	return 0
}

// tell hands on what has come of the arguments of a call, once the tool is known. Those of two
// bytes may be replaced by others.
func (a *accumulator) tell(at int) {
	c := a.calls.list[at]
	if a.OnCall == nil || c.name == "" || len(c.args) <= max(c.told, len("{}")) {
		return
	}
	piece := string(c.args[c.told:])
	if c.told = len(c.args); c.id == "" && c.made == "" {
		c.made = a.Names.Next(nil)
	}
	id := cmp.Or(c.made, c.id)
	if slices.ContainsFunc(a.calls.list[:at], func(o *call) bool { return o.id == id }) {
		id = "" // the call repeats the other one, or gets another id
	}
	a.OnCall(llmclient.CallDelta{Index: at, ID: id, Tool: c.name, Text: piece})
}

// message returns the message so far. If the reply was cut, an incomplete last call is left out.
func (a *accumulator) message(cut bool) messages.Assistant {
	tools := a.calls.tools(cut, &a.Names)
	var content []messages.AssistantContent
	if n := len(a.segments) + len(tools); n > 0 {
		content = make([]messages.AssistantContent, 0, n)
	}
	for _, s := range a.segments {
		if s.kind == llmclient.DeltaThought {
			content = append(content, messages.Thought{Text: s.text.String()})
			continue
		}
		content = append(content, messages.Text{Text: s.text.String()})
	}
	a.cite(content)
	shift := 0
	for i, s := range a.segments {
		for shift < min(s.calls, len(tools)) {
			content = slices.Insert(content, i+shift, messages.AssistantContent(tools[shift]))
			shift++
		}
	}
	for _, t := range tools[shift:] {
		content = append(content, t)
	}
	return messages.Assistant{Content: content, Extras: a.thoughts.extras()}
}

// cite adds to each text the sources that the model named for it.
func (a *accumulator) cite(content []messages.AssistantContent) {
	if a.sources.none() {
		return
	}
	var texts []string
	var at []int
	for i, c := range content {
		if t, ok := c.(messages.Text); ok {
			texts, at = append(texts, t.Text), append(at, i)
		}
	}
	for n, cited := range a.sources.of(texts) {
		content[at[n]] = messages.Text{Text: texts[n], Citations: cited}
	}
}
