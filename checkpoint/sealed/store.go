package sealed

import (
	"context"
	"crypto/cipher"
	"errors"
	"iter"
	"slices"

	"github.com/segue-go/segue/checkpoint"
)

// store seals what it gives to another, and opens what it gets from it.
type store struct {
	inner checkpoint.Store
	keys  Keys
	byID  map[string]Key
}

var _ checkpoint.Store = (*store)(nil)

// New returns a store that seals what it is given, and keeps it in inner. It has the abilities of
// inner, as [checkpoint.As] finds them: Inbox, SnapshotStore and ValueStore, if inner has them,
// seal as well; Lister, Leaser and Pruner are as they are; it has no other. It is safe for
// concurrent use if inner is.
//
// The very same Append, made again, is sealed anew: of the two the store keeps one, and each opens
// to the same. Read ends with an error at a record that cannot be opened. Posted returns the
// messages that can be opened, and an error about the others. A message that is forged, or not
// sealed, keeps no run from its replies; a message whose key is missing keeps a run from being
// resumed here, since it may be a stop. A Snapshot that cannot be opened is an error.
//
// An error is a mistake in the keys, or a missing store.
func New(inner checkpoint.Store, keys Keys) (checkpoint.Store, error) {
	if inner == nil {
		return nil, errors.New("sealed: the store is nil")
	}
	byID, err := keys.byID()
	if err != nil {
		return nil, err
	}
	keys.Old = slices.Clone(keys.Old)
	return &store{inner: inner, keys: keys, byID: byID}, nil
}

// Append implements [checkpoint.Store].
func (s *store) Append(ctx context.Context, b checkpoint.Batch) error {
	b.Records = slices.Clone(b.Records)
	for i := range b.Records {
		r := &b.Records[i]
		data, err := s.seal(place{key: b.Key, kind: aRecord, number: r.Seq, name: r.Type}, r.Data)
		if err != nil {
			return err
		}
		r.Data = data
	}
	return s.inner.Append(ctx, b)
}

// Read implements [checkpoint.Store].
func (s *store) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		o, first := opener{s: s, plain: s.keys.ReadPlain}, max(from, 1)
		if o.plain && first > 1 {
			from = first - 1 // it says whether what is not sealed behind it is older than the sealing
		}
		for r, err := range s.inner.Read(ctx, key, from) {
			if err == nil {
				r.Data, err = o.open(place{key: key, kind: aRecord, number: r.Seq, name: r.Type}, r.Data)
			}
			if err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
			if r.Seq >= first && !yield(r, nil) {
				return
			}
		}
	}
}

// Head implements [checkpoint.Store]. Heads are not sealed.
func (s *store) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	return s.inner.Head(ctx, key)
}

// opener opens what belongs to one run.
type opener struct {
	s     *store
	plain bool // what is not sealed is taken, too

	keyID string // of aead
	aead  cipher.AEAD
}

// open returns the data of an envelope that stands at a place. It may return the very data that it
// was given.
func (o *opener) open(p place, data []byte) ([]byte, error) {
	e, err := readEnvelope(data)
	if errors.Is(err, ErrPlain) && o.plain {
		return data, nil
	}
	if err == nil {
		o.plain = false // nothing behind it is older than the sealing
		err = o.use(e.keyID, p.key)
	}
	if err == nil {
		if data, err = o.aead.Open(nil, nil, e.body, p.bound(e.head)); err != nil {
			err = ErrForged
		}
	}
	if err != nil {
		return nil, &openError{p, e.keyID, err}
	}
	return data, nil
}

// use makes the cipher of a key, for a run, the one that opens.
func (o *opener) use(keyID string, run checkpoint.Key) (err error) {
	if o.aead != nil && o.keyID == keyID {
		return nil
	}
	key, ok := o.s.byID[keyID]
	if !ok {
		return ErrNoKey
	}
	o.keyID = keyID
	o.aead, err = key.cipher(run)
	return err
}
