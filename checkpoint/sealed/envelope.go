package sealed

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"

	"github.com/segue-go/segue/checkpoint"
)

// An envelope is what a store keeps in the place of data:
//
//	0x00 'S' 'G' 'S' | format, a byte | length of the key's id, a byte | the key's id | nonce, 12 bytes | ciphertext | tag, 16 bytes
//
// It begins with a byte that no JSON text begins with. The length of the data is that of the
// envelope less its overhead.

var magic = []byte("\x00SGS")

const formatOfEnvelope = 1

// place is where an envelope belongs.
type place struct {
	key      checkpoint.Key
	snapshot bool
	record   int    // the place in the journal, or how many records a snapshot stands for; else it is a message or a value
	name     string // the type of the record, or the id of the message or the value

	value         bool
	segment, size int64 // the place in the value, from 0, and the size of the value
}

// refused is the error of what stands at the place.
func (p *place) refused(keyID string, err error) error {
	e := &openError{key: p.key, keyID: keyID, err: err}
	switch {
	case p.snapshot:
		e.snapshot = p.record
	case p.value:
		e.value = p.name
	case p.record > 0:
		e.record = p.record
	default:
		e.message = p.name
	}
	return e
}

// bound returns what the envelope is bound to: its own head, and the place.
func (p *place) bound(head []byte) []byte {
	ad := make([]byte, 0, len(head)+len(p.key.Namespace)+len(p.key.Run)+len(p.name)+40)
	ad = append(ad, head...)
	switch {
	case p.snapshot:
		ad = append(ad, 's')
	case p.value:
		ad = append(ad, 'v')
	case p.record > 0:
		ad = append(ad, 'r')
	default:
		ad = append(ad, 'm')
	}
	ad = appendText(appendText(ad, p.key.Namespace), p.key.Run)
	ad = binary.BigEndian.AppendUint64(ad, uint64(p.record)) //nolint:gosec // it is not negative
	if p.value {
		ad = binary.BigEndian.AppendUint64(ad, uint64(p.segment)) //nolint:gosec // it is not negative
		ad = binary.BigEndian.AppendUint64(ad, uint64(p.size))    //nolint:gosec // it is not negative
	}
	return appendText(ad, p.name)
}

// appendText appends a text behind its length, so that two texts never look like two others.
func appendText(dst []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(text))), text...) //nolint:gosec // ids are short
}

// seal returns the envelope of data.
func seal(aead cipher.AEAD, keyID string, p *place, data []byte) []byte {
	head := len(magic) + 2 + len(keyID)
	sealed := make([]byte, 0, head+len(data)+aead.Overhead())
	sealed = append(append(sealed, magic...), formatOfEnvelope, byte(len(keyID)))
	sealed = append(sealed, keyID...)
	return aead.Seal(sealed, nil, data, p.bound(sealed))
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

// open returns the data of an envelope. What was not sealed for this place is [ErrForged].
func (e *envelope) open(aead cipher.AEAD, p *place) ([]byte, error) {
	data, err := aead.Open(nil, nil, e.body, p.bound(e.head))
	if err != nil {
		return nil, ErrForged
	}
	return data, nil
}
