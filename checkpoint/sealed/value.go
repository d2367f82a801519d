package sealed

import (
	"context"

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
	size := int64(len(data))
	count := segments(size)
	sealed := make([]byte, 0, size+count*overhead(s.s.keys.Current.id))
	for n := range count {
		some := data[n*segmentSize : min(size, (n+1)*segmentSize)]
		segment, err := s.s.seal(place{key: key, kind: aValue, name: id, segment: n, size: size}, some)
		if err != nil {
			return err
		}
		sealed = append(sealed, segment...)
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
	wanted := end - first
	if wanted == 0 {
		first, end = 0, min(1, r.size) // who made up the size cannot seal it
	}
	data, err := r.open(ctx, first, end)
	if err != nil {
		return nil, 0, err
	}
	return data[:wanted], r.size, nil
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
	opener
	inner checkpoint.ValueStore
	place place
	first string // the id of the key of the first segment
	whole int64  // the size of the envelopes together
	full  int64  // the size of the envelope of a whole segment
	size  int64  // of the value
}

// reader reads how a value is sealed.
func (s *sealedValues) reader(ctx context.Context, key checkpoint.Key, id string) (*valueReader, error) {
	head, whole, err := s.inner.ReadValue(ctx, key, id, 0, len(magic)+2+maxKeyID)
	if err != nil {
		return nil, err
	}
	e, err := readEnvelope(head)
	r := &valueReader{
		opener: opener{s: s.s}, inner: s.inner, place: place{key: key, kind: aValue, name: id}, first: e.keyID,
		whole: whole, full: segmentSize + overhead(e.keyID),
	}
	count := (whole + r.full - 1) / r.full
	r.size = whole - count*overhead(e.keyID)
	if err == nil {
		err = r.use(e.keyID, key)
	}
	if err == nil && (r.size < 0 || segments(r.size) != count) {
		err = ErrForged
	}
	if err != nil {
		return nil, &openError{r.place, e.keyID, err}
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
		return nil, &openError{r.place, r.first, ErrForged}
	}
	data := make([]byte, 0, (to-from)*segmentSize)
	for n := from; n < to; n++ {
		some := sealed[:min(int64(len(sealed)), r.full)]
		sealed = sealed[len(some):]
		p := r.place
		p.segment, p.size = n, r.size
		opened, err := r.opener.open(p, some)
		if err == nil && r.keyID != r.first {
			err = &openError{p, r.keyID, ErrForged}
		}
		if err != nil {
			return nil, err
		}
		data = append(data, opened...)
	}
	begin := from * segmentSize
	return data[first-begin : end-begin], nil
}

// segments returns how many segments a value of so many bytes has.
func segments(size int64) int64 { return max(1, (size+segmentSize-1)/segmentSize) }
