package sealed

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
)

// An envelope is what a store keeps in the place of data:
//
//	0x00 'S' 'G' 'S' | format, a byte | length of the key's id, a byte | the key's id |
//	nonce, 12 bytes | ciphertext | tag, 16 bytes
//
// It begins with a byte that no JSON text begins with. The length of the data is that of the
// envelope less its overhead.

var magic = []byte("\x00SGS")

const formatOfEnvelope = 1

// place is where an envelope belongs.
type place struct {
	key    checkpoint.Key
	kind   kind
	number int    // the place in the journal, or how many records a snapshot stands for
	name   string // the type of the record, or the id of the message or the value

	segment, size int64 // the place in the value, from 0, and the size of the value
}

// kind is what stands at a place. It is part of what an envelope is bound to.
type kind byte

const (
	aRecord   kind = 'r'
	aMessage  kind = 'm'
	aSnapshot kind = 's'
	aValue    kind = 'v'
)

func (p *place) String() string {
	switch p.kind {
	case aSnapshot:
		return fmt.Sprintf("snapshot of %d records", p.number)
	case aValue:
		return fmt.Sprintf("value %.64q", p.name)
	case aRecord:
		return fmt.Sprintf("record %d", p.number)
	default:
		return fmt.Sprintf("message %.64q", p.name)
	}
}

// bound returns what the envelope is bound to: its own head, and the place.
func (p *place) bound(head []byte) []byte {
	ad := make([]byte, 0, len(head)+len(p.key.Namespace)+len(p.key.Run)+len(p.name)+40)
	ad = append(append(ad, head...), byte(p.kind))
	ad = appendText(appendText(ad, p.key.Namespace), p.key.Run)
	ad = binary.BigEndian.AppendUint64(ad, uint64(p.number)) //nolint:gosec // it is not negative
	if p.kind == aValue {
		ad = binary.BigEndian.AppendUint64(ad, uint64(p.segment)) //nolint:gosec // it is not negative
		ad = binary.BigEndian.AppendUint64(ad, uint64(p.size))    //nolint:gosec // it is not negative
	}
	return appendText(ad, p.name)
}

// appendText appends a text behind its length, so that two texts never look like two others.
func appendText(dst []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(text))), text...) //nolint:gosec // ids are short
}

// overhead returns how many bytes an envelope has more than its data.
func overhead(keyID string) int64 { return int64(len(magic) + 2 + len(keyID) + 12 + 16) }

// seal returns the envelope of data, sealed with the current key.
func (s *store) seal(p place, data []byte) ([]byte, error) {
	id := s.keys.Current.id
	aead, err := s.keys.Current.cipher(p.key)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, 0, int64(len(data))+overhead(id))
	sealed = append(append(sealed, magic...), formatOfEnvelope, byte(len(id)))
	sealed = append(sealed, id...)
	return aead.Seal(sealed, nil, data, p.bound(sealed)), nil
}

// envelope is one that was read, and not opened yet.
type envelope struct {
	keyID string
	head  []byte
	body  []byte
}

// readEnvelope reads the head of an envelope. Its error is one of those of this package.
func readEnvelope(data []byte) (envelope, error) {
	rest, ok := bytes.CutPrefix(data, magic)
	switch {
	case !ok:
		return envelope{}, ErrPlain
	case len(rest) < 2:
		return envelope{}, ErrForged
	case rest[0] != formatOfEnvelope:
		return envelope{}, ErrFormat
	}
	n := int(rest[1])
	if rest = rest[2:]; n == 0 || n > maxKeyID || len(rest) < n {
		return envelope{}, ErrForged
	}
	return envelope{keyID: string(rest[:n]), head: data[:len(data)-len(rest)+n], body: rest[n:]}, nil
}
