package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strconv"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// digester computes the digests of the steps of a frame. A digest covers the whole step, but costs
// only as much as its new parts: messages and tools that the previous step also had are not read
// twice.
type digester struct {
	conversation hash.Hash // hash of the messages that mark knows
	mark         messages.Mark
	text         []byte

	offered   *tools.Definition // the first of the tools in the digest
	offers    int               // the number of these tools
	toolsText [sha256.Size]byte

	other     llmclient.Request // the other fields of the last request
	otherText []byte
}

// digest returns the digest of a step of the frame, as hexadecimal digits.
func (f *frame) digest(step nextstep.NextStep) (string, error) {
	if f.digester == nil {
		f.digester = new(digester)
	}
	return f.digester.step(step)
}

func (d *digester) step(s nextstep.NextStep) (string, error) {
	ask, ok := s.(nextstep.GetChatCompletion)
	if !ok {
		text, err := nextstep.Marshal(s)
		if err != nil {
			return "", err
		}
		return hexSum(text), nil
	}
	if err := d.read(ask.Request.Messages); err != nil {
		return "", err
	}
	if err := d.readTools(ask.Request.Tools); err != nil {
		return "", err
	}
	if err := d.readOther(ask.Request); err != nil {
		return "", err
	}
	d.text = append(append(d.conversation.Sum(d.text[:0]), d.toolsText[:]...), d.otherText...)
	return hexSum(d.text), nil
}

// hexSum returns the digest of a text, as hexadecimal digits.
func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// readOther digests the fields of a request other than messages and tools, unless they are
// unchanged: strategies often send the same ones again.
func (d *digester) readOther(r llmclient.Request) error {
	r.Messages, r.Tools = nil, nil
	if d.otherText != nil && r.Extras == nil && r.Stop == nil && d.other.Extras == nil && d.other.Stop == nil &&
		r.Model == d.other.Model && r.ToolFormat == d.other.ToolFormat && r.ToolChoice == d.other.ToolChoice &&
		r.Schema == d.other.Schema && r.Temperature == d.other.Temperature && r.MaxTokens == d.other.MaxTokens {
		return nil
	}
	text, err := nextstep.Marshal(nextstep.GetChatCompletion{Request: r})
	if err != nil {
		return err
	}
	d.other, d.otherText = r, text
	return nil
}

// read digests the new messages of a conversation.
func (d *digester) read(h messages.History) error {
	old := d.mark.Known(h)
	if old == 0 {
		d.conversation = sha256.New()
	}
	d.mark = messages.Mark{}
	for _, m := range h[old:] {
		text, err := messages.AppendMessage(d.text[:0], m)
		if err != nil {
			return err
		}
		d.text = append(text, '\n')
		d.conversation.Write(d.text)
	}
	d.mark = h.Mark()
	return nil
}

func (d *digester) readTools(defs []tools.Definition) error {
	if len(defs) == 0 {
		d.offered, d.offers, d.toolsText = nil, 0, [sha256.Size]byte{}
		return nil
	}
	if d.offered == &defs[0] && d.offers == len(defs) {
		return nil
	}
	text, err := json.Marshal(defs)
	if err != nil {
		return err
	}
	d.offered, d.offers, d.toolsText = &defs[0], len(defs), sha256.Sum256(text)
	return nil
}

// digestOf returns the digest of a call.
func digestOf(c *messages.ToolCall) string {
	var room [256]byte
	text := room[:0]
	for _, part := range []string{c.ID, c.Name, c.Arguments} {
		text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
		text = append(text, part...)
	}
	return hexSum(text)
}
