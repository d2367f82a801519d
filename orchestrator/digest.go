package orchestrator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// digester digests the steps of a frame. The digest of a step says all that stands in it, at the
// cost of what is new in it: the messages that it has in common with the step before, and tools
// that are offered again, are not read twice.
type digester struct {
	said hash.Hash // over the messages that mark knows
	mark messages.Mark
	text []byte

	offered   *tools.Definition // the first of those that tools is the digest of
	offers    int               // how many they are
	toolsText [sha256.Size]byte
}

// digest returns the digest of a step of the frame, as hexadecimal digits.
func (f *frame) digest(step nextstep.NextStep) (string, error) {
	if f.digester == nil {
		f.digester = new(digester)
	}
	return f.digester.step(step)
}

func (d *digester) step(s nextstep.NextStep) (string, error) {
	sum := sha256.New()
	if ask, ok := s.(nextstep.GetChatCompletion); ok {
		if err := d.read(ask.Request.Messages); err != nil {
			return "", err
		}
		if err := d.readTools(ask.Request.Tools); err != nil {
			return "", err
		}
		sum.Write(d.said.Sum(nil))
		sum.Write(d.toolsText[:])
		ask.Request.Messages, ask.Request.Tools = nil, nil
		s = ask
	}
	text, err := nextstep.Marshal(s)
	if err != nil {
		return "", err
	}
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// read digests what is new in a conversation.
func (d *digester) read(h messages.History) error {
	known := d.mark.Known(h)
	if known == 0 {
		d.said = sha256.New()
	}
	d.mark = messages.Mark{}
	for _, m := range h[known:] {
		text, err := messages.AppendMessage(d.text[:0], m)
		if err != nil {
			return err
		}
		d.text = append(text, '\n')
		d.said.Write(d.text)
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
