package anthropic

import (
	"bytes"
	"slices"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// maxBlocks limits the blocks of one reply.
const maxBlocks = 4096

// accumulator builds a reply from one whole answer or from the events of a stream.
type accumulator struct {
	wire.Gathered
	decoder
	cursor wire.Cursor

	begun   bool // a message has come, or a part of one
	blocks  []*block
	calls   int
	tail    string // the end of the text so far
	apart   bool   // a call has come since then
	stop    string // why the model stopped; "" if that has not come
	details []byte // of a refusal
	usage   usage
	mixed   bool // a block went on after its end, or a text after a later block had begun
}

var _ wire.Reply = (*accumulator)(nil)

// Decode implements [wire.Reply].
func (a *accumulator) Decode(data []byte, _ bool) (ok, cut bool) { return a.decode(data), a.Cut() }

// Take implements [wire.Reply].
func (a *accumulator) Take(name, data []byte, whole bool) (end bool, err *llmclient.Error) {
	kind := string(wire.OrElse(a.event.kind, name))
	if whole {
		kind = "message"
		if a.event.err == nil && a.event.content == nil {
			return true, wire.Lacks(data, "message")
		}
	}
	if a.add(&a.event, kind); a.Err != nil {
		a.Err = bytes.Clone(data) // with what stands beside the error
	}
	if a.mixed {
		return true, &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "the stream goes on with a block that has ended"}
	}
	return a.Done, wire.TooMany(len(a.blocks), maxBlocks, "blocks")
}

// Finished implements [wire.Reply]: the stop reason has come.
func (a *accumulator) Finished() bool { return a.stop != "" }

// Broken implements [wire.Reply]. Of what has come, calls and other blocks that have not ended are
// left out. How much the model has written is told at the end alone.
func (a *accumulator) Broken() (kept, came messages.Assistant, used messages.Usage) {
	used = a.usage.total()
	if a.stop == "" {
		used.Output, used.Total = 0, used.Input
	}
	kept = a.message(slices.DeleteFunc(slices.Clone(a.blocks), func(b *block) bool {
		return !b.stopped && b.kind != blockText && b.kind != blockThought
	}))
	return kept, a.message(a.blocks), used
}

// add adds a whole message, or an event whose type is kind.
func (a *accumulator) add(v *event, kind string) {
	if v.err != nil || kind == "error" {
		a.Err = append([]byte{}, v.err...) // which may be nil
		return
	}
	switch kind {
	case "message", "message_start":
		a.begin(v)
	case "content_block_start":
		if v.block != nil {
			a.start(v.index, v.block)
		}
	case "content_block_delta":
		if v.delta != nil {
			a.continues(v.index, v.delta)
		}
	case "content_block_stop":
		if b := a.at(v.index); b != nil {
			b.stopped = true
		}
	case "message_delta":
		a.begun = true
		a.usage.add(v.usage)
		p := readPiece(&a.cursor, v.delta)
		a.ends(p.stop, p.details)
	case "message_stop":
		a.Done = true
	}
}

// begin adds what a message has at its beginning. A whole one has everything.
func (a *accumulator) begin(v *event) {
	a.begun = true
	a.Named(v.id, v.model)
	a.usage.add(v.usage)
	for i, raw := range elements(v.content) {
		a.start(int64(i), raw)
		a.blocks[len(a.blocks)-1].stopped = true
	}
	a.ends(v.stop, v.details)
}

// ends notes why the model stopped, if that has come.
func (a *accumulator) ends(stop, details []byte) {
	if len(stop) > 0 {
		a.stop = string(stop)
	}
	if len(details) > 0 && string(details) != "null" {
		a.details = wire.RawJSON(details)
	}
}

// start begins a block.
func (a *accumulator) start(index int64, raw []byte) {
	p := readPiece(&a.cursor, raw)
	a.append(newBlock(index, raw, &p), &p)
}

func (a *accumulator) append(b *block, p *piece) {
	a.begun = true
	if b.kind == blockCall {
		b.call = a.calls
		a.calls++
		a.apart = a.tail != ""
	}
	a.blocks = append(a.blocks, b)
	a.write(b, p.text)
}

// at returns the newest block with an index, or nil.
func (a *accumulator) at(index int64) *block {
	for _, b := range slices.Backward(a.blocks) {
		if b.index == index {
			return b
		}
	}
	return nil
}

// continues adds a delta to its block. A block that was not announced begins with it.
func (a *accumulator) continues(index int64, raw []byte) {
	p := readPiece(&a.cursor, raw)
	b := a.at(index)
	if b == nil {
		if b = (&block{kind: kindOf(p.kind), index: index}); b.kind == blockOther {
			return
		}
		a.append(b, &piece{})
	}
	if b.kind != blockOther && kindOf(p.kind) == blockOther {
		return // of a kind that this package does not know
	}
	if b.stopped || len(p.text) > 0 && b != a.blocks[len(a.blocks)-1] {
		a.mixed = true // there is no telling what the model wrote
		return
	}
	b.take(&p, raw)
	a.write(b, p.text)
	if b.kind == blockCall && a.OnCall != nil && b.name != "" && len(p.arguments) > 0 {
		a.OnCall(llmclient.CallDelta{Index: b.call, ID: b.id, Tool: b.name, Text: string(p.arguments)})
	}
}

// write appends to the text of a block and shows it. The piece shares the memory of the
// whole, which is never written again.
func (a *accumulator) write(b *block, text []byte) {
	if len(text) == 0 || b.kind != blockText && b.kind != blockThought {
		return
	}
	from := b.text.Len()
	b.text.Write(text)
	piece := b.text.String()[from:]
	if b.kind == blockThought {
		a.Show(llmclient.DeltaThought, piece)
		return
	}
	if a.apart && wire.Apart(a.tail, piece) {
		a.Show(llmclient.DeltaText, "\n\n") // as Message.Text joins texts with a call between them
	}
	a.tail, a.apart = piece, false
	a.Show(llmclient.DeltaText, piece)
}

// message returns the message of the blocks.
func (a *accumulator) message(blocks []*block) messages.Assistant {
	m := messages.Assistant{}
	var calls []messages.ToolCall
	for _, b := range blocks {
		part := b.part()
		if call, ok := part.(messages.ToolCall); ok {
			call = a.Identified(call, calls)
			calls, part = append(calls, call), call
		}
		if part != nil {
			m.Content = append(m.Content, part)
		}
	}
	if a.details != nil {
		m.Extras = messages.Extras{extraRefusal: a.details}
	}
	return m
}
