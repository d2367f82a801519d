package policyclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// reply is one reply, while it arrives and when it is complete.
type reply struct {
	policy  markdownpolicy.Policy
	asked   *llmclient.Request    // the caller's request
	onDelta func(llmclient.Delta) // nil if it is not streamed
	emitted bool                  // onDelta was called
	cut     bool                  // it was cut off

	raw      strings.Builder // what came
	mark     string          // of results; "": there is none
	line     int             // the beginning of a line in raw; no line before it begins with the mark
	ended    bool            // an invented result begins at line: the rest of raw is not read
	patience int             // how many bytes may yet be read again to find out whether a result is invented

	left     *markdownpolicy.LeftCalls // nil if the reply may have no calls
	found    markdownpolicy.Left       // what it found, once the reply is whole
	foundEnd int                       // where that ends in raw

	parser  markdownpolicy.Parser
	text    strings.Builder       // the input of the parser
	certain []markdownpolicy.Part // what the parser released before its end
	seam    seam
	said    messages.Assistant // the last text that was released, and a call if one has followed it

	content []messages.AssistantContent // the content, once read
}

// begin resets the reply.
func (r *reply) begin() {
	if s, ok := r.policy.(markdownpolicy.Streamer); ok {
		r.parser = s.NewParser()
	} else {
		r.parser = &whole{policy: r.policy}
	}
	r.text.Reset()
	r.raw.Reset()
	r.line, r.ended, r.patience = 0, false, 1<<20
	r.certain, r.seam, r.said = nil, seam{}, messages.Assistant{}
	r.left, r.found, r.foundEnd = nil, markdownpolicy.Left{}, 0
	if r.mayCall() && r.asked.Schema == nil { // what a schema asks for may look like a call
		r.left = markdownpolicy.NewLeftCalls(r.asked.Tools)
	}
}

// fetch asks c, and reads what it streams. If an inner client begins its reply again, so does r.
func (r *reply) fetch(ctx context.Context, c llmclient.Client, req *llmclient.Request) (*llmclient.Response, error) {
	r.begin()
	var hear func(llmclient.Delta)
	if r.onDelta != nil {
		hear = r.hear
	}
	inner := llmclient.WithNotify(ctx, func(n llmclient.Notice) {
		if n.Discard {
			r.begin()
		}
		llmclient.Notify(ctx, n)
	})
	resp, err := c.Complete(inner, req, hear)
	if resp == nil && err == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: req.Model, Message: fmt.Sprintf("policyclient: client %T returned neither a response nor an error", c)}
	}
	return resp, err
}

// hear processes a piece that the client streams.
func (r *reply) hear(d llmclient.Delta) {
	if d.Kind == llmclient.DeltaText {
		r.write(d.Text, false)
		return
	}
	r.emit(d.Kind, d.Text)
}

// write reads the next piece. final means that no other comes.
func (r *reply) write(piece string, final bool) {
	r.raw.WriteString(piece)
	text := r.raw.String()
	piece = text[r.text.Len():max(r.text.Len(), r.unread(text, final))]
	if piece == "" {
		return
	}
	r.text.WriteString(piece)
	parts := r.parser.Write(piece)
	if len(r.certain) == 0 {
		r.lead(parts)
	}
	r.certain = append(r.certain, parts...)
	r.release(parts)
}

func (r *reply) release(parts []markdownpolicy.Part) {
	for _, p := range r.seam.texts(parts, r.text.String(), r.isText(r.mayCall())) {
		switch c := p.Content.(type) {
		case messages.Text:
			r.say(c)
		case messages.Thought:
			r.emit(llmclient.DeltaThought, c.Text)
		case messages.ToolCall: // it is not streamed
			r.said.Content = append(r.said.Content, c)
		}
	}
}

// say streams a text, with what [messages.Assistant.Text] puts between texts around a call.
func (r *reply) say(t messages.Text) {
	if t.Text == "" {
		return
	}
	before := r.said.Text()
	r.said.Content = append(r.said.Content, t)
	r.emit(llmclient.DeltaText, strings.TrimPrefix(r.said.Text(), before))
	r.said.Content = append(r.said.Content[:0], t)
}

func (r *reply) emit(kind llmclient.DeltaKind, text string) {
	if r.onDelta != nil && text != "" {
		r.emitted = true
		r.onDelta(llmclient.Delta{Kind: kind, Text: text})
	}
}

// lead adds the blanks at the beginning of the reply to its first part, if that is a text. Without
// a policy these blanks would be present, and a text that continues another may need them.
func (r *reply) lead(parts []markdownpolicy.Part) {
	if len(parts) == 0 {
		return
	}
	first := &parts[0]
	t, ok := first.Content.(messages.Text)
	if lead := r.text.String()[:min(first.Start, r.text.Len())]; ok && strings.TrimSpace(lead) == "" {
		first.Content, first.Start = messages.Text{Text: lead + t.Text}, 0
	}
}

// trail does the same at the end.
func (r *reply) trail(parts []markdownpolicy.Part) {
	if len(parts) == 0 {
		return
	}
	last := &parts[len(parts)-1]
	t, ok := last.Content.(messages.Text)
	if trail := r.text.String()[min(last.End, r.text.Len()):]; ok && strings.TrimSpace(trail) == "" {
		last.Content, last.End = messages.Text{Text: t.Text + trail}, r.text.Len()
		r.emit(llmclient.DeltaText, trail)
	}
}

// read reads the whole reply. An error says why it must be sent back.
func (r *reply) read(resp *llmclient.Response) *markdownpolicy.ParseError {
	cut := resp.Finish == llmclient.FinishLength
	switch resp.Finish {
	case "", llmclient.FinishStop, llmclient.FinishToolCalls, llmclient.FinishLength:
		return r.finish(resp.Message, cut, r.mayCall())
	default:
		return r.finish(resp.Message, cut, false)
	}
}

// mayCall reports whether the model may call tools.
func (r *reply) mayCall() bool {
	return len(r.asked.Tools) > 0 && r.asked.ToolChoice.Mode != llmclient.ChooseNone
}

// isText returns a function that reports which calls are text: all of them if the reply may contain
// no calls, or else a call that was cut off, because part of it may be missing.
func (r *reply) isText(callable bool) func(markdownpolicy.Part) bool {
	return func(p markdownpolicy.Part) bool { return !callable || r.cut && p.Open }
}

// finish reads the whole message, which may be cut. If it is not callable, all calls become text,
// also native ones, and so does unreadable text if it is not sent back.
func (r *reply) finish(m messages.Assistant, cut, callable bool) *markdownpolicy.ParseError {
	if native := m.Calls(); !callable && len(native) > 0 {
		m.Content = slices.DeleteFunc(slices.Clone(m.Content), isCall)
		defer r.addAsText(native)
	}
	separated := m.Content
	thought := callable && !cut && r.thoughtAsText(&m)
	if m.Text() == "" {
		r.content = m.Content
		return nil
	}
	r.catchUp(m.Text(), callable && !cut)
	cut = cut && !r.ended
	r.cut = cut
	doc, rest, err := r.parser.Close()
	calls, unmade := r.leftParts()
	problem := cmp.Or(r.unfounded(), asParseError(err), unmade)
	parts := doc.Parts
	switch {
	case problem == nil || cut || !callable:
		r.end(parts, rest)
	case len(r.certain) > 0:
		parts = joined(r.certain)
	default:
		parts = r.before(problem)
	}
	if cut || !callable {
		parts = joined(new(seam).texts(parts, r.text.String(), r.isText(callable)))
	}
	if problem == nil {
		parts = append(slices.Clip(parts), calls...)
	}
	r.identify(parts, m.Calls())
	if r.content = beside(m.Content, parts); thought && problem == nil && !slices.ContainsFunc(r.content, isCall) {
		r.content = beside(separated, nil)
	}
	if cut || !callable {
		return nil
	}
	return problem
}

// thoughtAsText makes the thoughts of a reply that is nothing else its text, with tags around them,
// if the policy reads thoughts between tags, and they hold none that would end them. Nothing of
// them is streamed again.
func (r *reply) thoughtAsText(m *messages.Assistant) bool {
	const open, end = "<think>", "</think>"
	thought := m.Thought()
	if strings.TrimSpace(m.Text()) != "" || m.Calls() != nil || thought == "" || strings.Contains(thought, end) {
		return false
	}
	doc, err := r.policy.ParseResponse(open + "a" + end)
	if contents := doc.Contents(); err != nil || len(contents) != 1 || (messages.Assistant{Content: contents}).Thought() != "a" {
		return false
	}
	m.Content, r.onDelta = []messages.AssistantContent{messages.Text{Text: open + thought + end}}, nil
	return true
}

func isCall(c messages.AssistantContent) bool {
	_, ok := c.(messages.ToolCall)
	return ok
}

// addAsText adds native calls as text at the end, as JSON on a line each. If a reply may contain
// calls but is withheld, nothing is streamed at its end.
func (r *reply) addAsText(native []messages.ToolCall) {
	for _, c := range native {
		line := nativeText(c)
		if (messages.Assistant{Content: r.content}).Text() != "" {
			line = "\n" + line
		}
		r.content = append(slices.Clip(r.content), messages.Text{Text: line})
		if !r.mayCall() {
			r.emit(llmclient.DeltaText, line)
		}
	}
}

// end streams what the parser had not released, without the blanks at the end.
func (r *reply) end(parts, rest []markdownpolicy.Part) {
	if len(r.certain) == 0 {
		r.lead(rest)
	}
	r.lead(parts)
	r.release(rest)
	r.trail(parts)
}

// before returns the parts before a problem, if the parser had released nothing. They are those of
// the longest readable text that ends at the problem or at a line end before it.
func (r *reply) before(problem *markdownpolicy.ParseError) []markdownpolicy.Part {
	text := r.text.String()
	text = text[:min(problem.Offset, len(text))]
	for patience := 1 << 20; text != "" && patience > 0; patience -= len(text) { // in bytes
		if doc, err := r.policy.ParseResponse(text); err == nil {
			return doc.Parts
		}
		text = text[:strings.LastIndexByte(text[:len(text)-1], '\n')+1]
	}
	return nil
}

// asParseError returns the error of a policy as a ParseError, which it should be.
func asParseError(err error) *markdownpolicy.ParseError {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*markdownpolicy.ParseError](err); ok {
		return e
	}
	return &markdownpolicy.ParseError{Line: 1, Expected: "a reply in the format that was given", Err: err}
}

// catchUp passes the parser what was not streamed. If a client returned another text than it
// streamed, it broke its promise: the returned text counts. If it is not whole, or may hold no
// calls, none is looked for where the policy finds none.
func (r *reply) catchUp(text string, callable bool) {
	rest, ok := strings.CutPrefix(text, r.raw.String())
	if !ok {
		r.begin()
		r.onDelta, rest = nil, text
	}
	if !callable {
		r.left = nil
	}
	r.write(rest, true)
}
