package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// blockKind is the kind of a [block].
type blockKind uint8

const (
	blockOther blockKind = iota // kept as it is
	blockText
	blockThought
	blockRedacted
	blockCall
)

func kindOf(name []byte) blockKind {
	switch string(name) {
	case "text", "text_delta", "citations_delta":
		return blockText
	case "thinking", "thinking_delta", "signature_delta":
		return blockThought
	case "redacted_thinking":
		return blockRedacted
	case "tool_use", "input_json_delta":
		return blockCall
	default:
		return blockOther
	}
}

// block is a block of the reply that is being built.
type block struct {
	kind    blockKind
	index   int64
	stopped bool // it has ended
	spoiled bool // of kind other: it had a delta that is unknown

	text      strings.Builder
	signature []byte
	data      []byte // of a redacted thought
	citations []messages.Citation

	id, name  string
	call      int        // the place among the calls
	arguments []byte     // as streamed
	input     []byte     // as it began, raw
	caller    []byte     // raw; nil if the model itself made the call
	raw       []byte     // of kind other: as it began
	summary   deltaTexts // of a compaction
}

// deltaTexts are the texts of the deltas of a compaction, which has none if it has failed.
type deltaTexts struct{ content, sealed strings.Builder }

// take adds those of a delta.
func (d *deltaTexts) take(raw []byte) {
	d.content.WriteString(textOf(raw, "content"))
	d.sealed.WriteString(textOf(raw, "encrypted_content"))
}

// members returns the texts, by the names of their members.
func (d *deltaTexts) members() map[string][]byte {
	all := map[string][]byte{}
	for name, text := range map[string]*strings.Builder{"content": &d.content, "encrypted_content": &d.sealed} {
		if text.Len() > 0 {
			all[name] = jsonform.AppendString(nil, text.String())
		}
	}
	return all
}

// newBlock returns a block as it begins, without its text.
func newBlock(index int64, raw []byte, p *piece) *block {
	b := &block{
		kind: kindOf(p.kind), index: index, signature: bytes.Clone(p.signature), data: bytes.Clone(p.data),
		id: string(p.id), name: string(p.name), input: bytes.ToValidUTF8(p.input, []byte("\ufffd")),
	}
	if b.kind == blockOther && len(p.kind) > 0 {
		b.raw = wire.RawJSON(raw)
	}
	if c := jsonform.Member(p.caller, "type"); len(p.caller) > 0 && string(c) != `"direct"` && string(p.caller) != "null" {
		b.caller = wire.RawJSON(p.caller)
	}
	for _, raw := range elements(p.citations) {
		b.cite(raw)
	}
	return b
}

// isWritten reports whether the model writes the block, and it is no text or thought. The results
// of Anthropic's own tools come whole.
func (b *block) isWritten() bool {
	return b.kind == blockCall || b.kind == blockOther && !strings.HasSuffix(textOf(b.raw, "type"), "_tool_result")
}

// take takes what does not belong to the text of a delta.
func (b *block) take(p *piece, raw []byte) {
	b.signature = append(b.signature, p.signature...)
	b.arguments = append(b.arguments, p.arguments...)
	if p.citation != nil {
		b.cite(p.citation)
	}
	switch kind := string(p.kind); {
	case b.kind != blockOther || kind == "input_json_delta":
	case kind == "compaction_delta":
		b.summary.take(raw)
	default:
		b.spoiled = true
	}
}

// cite adds a citation, which is JSON. Its place is the whole text of the block.
func (b *block) cite(raw []byte) {
	var c struct {
		Quote  string `json:"cited_text"`
		Title  string `json:"title"`
		Doc    string `json:"document_title"`
		URL    string `json:"url"`
		Source string `json:"source"`
		FileID string `json:"file_id"`
	}
	raw = wire.RawJSON(raw)
	if json.Unmarshal(raw, &c) != nil {
		c.Quote = ""
	}
	b.citations = append(b.citations, messages.Citation{
		URL: cmp.Or(c.URL, c.Source), Title: cmp.Or(c.Title, c.Doc), FileID: c.FileID, Quote: c.Quote, Raw: raw,
	})
}

// part returns the block as a part of a message, or nil if there is nothing in it.
func (b *block) part() messages.AssistantContent {
	switch b.kind {
	case blockText:
		if b.text.Len() > 0 {
			return messages.Text{Text: b.text.String(), Citations: b.citations}
		}
	case blockThought:
		t := messages.Thought{Text: b.text.String()}
		if len(b.signature) > 0 {
			t.Extras = messages.Extras{extraSignature: jsonform.AppendString(nil, b.signature)}
		}
		if t.Text != "" || t.Extras != nil {
			return t
		}
	case blockRedacted:
		return messages.Thought{Extras: messages.Extras{extraRedacted: jsonform.AppendString(nil, b.data)}}
	case blockCall:
		args, _ := b.written()
		call := messages.ToolCall{ID: b.id, Name: b.name, Arguments: args}
		if b.caller != nil {
			call.Extras = messages.Extras{extraCaller: b.caller}
		}
		return call
	case blockOther:
		if raw := b.whole(); raw != nil {
			return messages.Thought{Extras: messages.Extras{extraBlock: raw}}
		}
	}
	return nil
}

// written returns the arguments of a call as the model wrote them, and whether its beginning and
// its deltas agree.
func (b *block) written() (args string, agree bool) {
	joined, agree := wire.JoinArguments(b.arguments, b.input)
	return wire.Arguments(joined), agree
}

// whole returns a block of kind other as Anthropic wants it back, or nil if that is not known.
func (b *block) whole() []byte {
	switch {
	case b.spoiled || len(b.raw) == 0:
		return nil
	case len(b.arguments) == 0:
		return wire.WithMembers(b.raw, b.summary.members())
	case !wire.ValidJSON(b.arguments):
		return nil
	}
	return wire.WithMembers(b.raw, map[string][]byte{"input": wire.RawJSON(b.arguments)})
}
