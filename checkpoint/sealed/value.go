package sealed

import (
	"context"
	"crypto/cipher"
	"errors"

	"github.com/segue-go/segue/checkpoint"
)

// A value is sealed in segments, so that a range of it can be opened without the rest: envelopes
// one behind the other, of segmentSize bytes of the value each, and the last of what is left. All
// have the key of the first. A value without bytes has one segment. Each is bound to the value, to
// its place in it, and to the size of the whole.

const segmentSize = 64 << 10

// sealedValues seals the values of a store that has some.
type sealedValues struct {
	s     *store
	inner checkpoint.ValueStore
}

var _ checkpoint.ValueStore = (*sealedValues)(nil)

// PutValue implements [checkpoint.ValueStore].
func (s *sealedValues) PutValue(ctx context.Context, key checkpoint.Key, id string, data []byte) error {
	k := s.s.keys.Current
	aead, err := k.cipher(key)
	if err != nil {
		return err
	}
	size := int64(len(data))
	count := segments(size)
	sealed := make([]byte, 0, size+count*overhead(k.id, aead))
	for n := range count {
		some := data[n*segmentSize : min(size, (n+1)*segmentSize)]
		sealed = append(sealed, seal(aead, k.id, &place{key: key, name: id, value: true, segment: n, size: size}, some)...)
	}
	return s.inner.PutValue(ctx, key, id, sealed)
}

// ReadValue implements [checkpoint.ValueStore]. It opens the segments that the bytes are in. What
// is not sealed is refused, whatever Keys.ReadPlain says.
func (s *sealedValues) ReadValue(ctx context.Context, key checkpoint.Key, id string, offset int64, length int) ([]byte, int64, error) {
	r, err := s.reader(ctx, key, id)
	if err != nil {
		return nil, 0, err
	}
	first, end := checkpoint.Span(r.size, offset, length)
	if first == end {
		first, end = 0, min(1, r.size) // who made up the size cannot seal it
		data, err := r.open(ctx, first, end)
		if err != nil {
			return nil, 0, err
		}
		return data[:0], r.size, nil
	}
	data, err := r.open(ctx, first, end)
	if err != nil {
		return nil, 0, err
	}
	return data, r.size, nil
}

// Values implements [checkpoint.ValueStore]. The sizes are not proven: they follow from those of
// what is stored. ReadValue proves them.
func (s *sealedValues) Values(ctx context.Context, key checkpoint.Key) ([]checkpoint.Value, error) {
	list, err := s.inner.Values(ctx, key)
	if err != nil {
		return nil, err
	}
	for i, v := range list {
		r, err := s.reader(ctx, key, v.ID)
		if err != nil {
			return nil, err
		}
		list[i].Size = r.size
	}
	return list, nil
}

// valueReader reads a sealed value.
type valueReader struct {
	inner checkpoint.ValueStore
	place place
	keyID string
	aead  cipher.AEAD
	whole int64 // the size of the envelopes together
	full  int64 // the size of the envelope of a whole segment
	size  int64 // of the value
}

// reader reads how a value is sealed.
func (s *sealedValues) reader(ctx context.Context, key checkpoint.Key, id string) (*valueReader, error) {
	p := place{key: key, name: id, value: true}
	head, whole, err := s.inner.ReadValue(ctx, key, id, 0, len(magic)+2+maxKeyID)
	if err != nil {
		return nil, err
	}
	e, err := readEnvelope(head)
	if err != nil {
		return nil, p.refused(e.keyID, err)
	}
	o := opener{s: s.s, key: key}
	if err := o.use(e.keyID); err != nil {
		return nil, p.refused(e.keyID, err)
	}
	r := &valueReader{inner: s.inner, place: p, keyID: e.keyID, aead: o.aead, whole: whole}
	more := overhead(e.keyID, o.aead)
	r.full = segmentSize + more
	count := (whole + r.full - 1) / r.full
	r.size = whole - count*more
	if r.size < 0 || segments(r.size) != count {
		return nil, p.refused(e.keyID, ErrForged)
	}
	return r, nil
}

// open returns the bytes of a value from first to before end; of a value without bytes it opens
// what there is.
func (r *valueReader) open(ctx context.Context, first, end int64) ([]byte, error) {
	from, to := first/segmentSize, segments(end)
	at := from * r.full
	length := min(r.whole, to*r.full) - at
	sealed, whole, err := r.inner.ReadValue(ctx, r.place.key, r.place.name, at, int(length))
	if err != nil {
		return nil, err
	}
	if whole != r.whole || int64(len(sealed)) != length {
		return nil, r.place.refused(r.keyID, ErrForged)
	}
	data := make([]byte, 0, (to-from)*segmentSize)
	for n := from; n < to; n++ {
		some := sealed[:min(int64(len(sealed)), r.full)]
		sealed = sealed[len(some):]
		p := r.place
		p.segment, p.size = n, r.size
		e, err := readEnvelope(some)
		if err == nil && e.keyID != r.keyID {
			err = ErrForged
		}
		var opened []byte
		if err == nil {
			opened, err = e.open(r.aead, &p)
		}
		if err != nil {
			return nil, p.refused(r.keyID, err)
		}
		data = append(data, opened...)
	}
	begin := from * segmentSize
	return data[first-begin : end-begin], nil
}

// segments returns how many segments a value of so many bytes has.
func segments(size int64) int64 { return max(1, (size+segmentSize-1)/segmentSize) }

// overhead returns how many bytes an envelope has more than its data.
func overhead(keyID string, aead cipher.AEAD) int64 {
	return int64(len(magic) + 2 + len(keyID) + aead.Overhead())
}

// keyIDOfValue returns the id of the key that a value is sealed with; "" if it is not sealed.
func keyIDOfValue(ctx context.Context, values checkpoint.ValueStore, key checkpoint.Key, id string) (string, error) {
	head, _, err := values.ReadValue(ctx, key, id, 0, len(magic)+2+maxKeyID)
	if err != nil {
		return "", err
	}
	e, err := readEnvelope(head)
	if err != nil && !errors.Is(err, ErrPlain) {
		p := place{key: key, name: id, value: true}
		return "", p.refused(e.keyID, err)
	}
	return e.keyID, nil
}
