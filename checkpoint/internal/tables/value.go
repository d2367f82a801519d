package tables

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/segue-go/segue/checkpoint"
)

// partSize is how many bytes each part of a value has, but the last. Stores hold parts of this
// size.
const partSize = 64 << 10

// Part is a part of a value.
type Part struct {
	Number int64 // from 0
	Data   []byte
	Sum    int64
}

// Parts yields the parts of a value that is stored.
func Parts(key checkpoint.Key, id string, data []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		number := int64(0)
		for some := range slices.Chunk(data, partSize) {
			if !yield(Part{number, some, sumOfPart(key, id, number, some)}) {
				return
			}
			number++
		}
	}
}

func sumOfPart(key checkpoint.Key, id string, number int64, data []byte) int64 {
	return int64(Sum(key, "part of value "+id, strconv.FormatInt(number, 10), data))
}

// SumOfValue returns the checksum of the row of a value of so many bytes.
func SumOfValue(key checkpoint.Key, id string, size int64) int64 {
	return int64(Sum(key, "value "+id, strconv.FormatInt(size, 10), nil))
}

// Value is the row of a value.
type Value struct {
	checkpoint.Value
	Run int64 // the number of the run in the database
	Sum int64
}

// Values are the values of the run Key, as they are stored.
type Values struct {
	Key checkpoint.Key

	// Row reads the row of a value, and returns false if there is none.
	Row func(id string) (v Value, found bool, err error)
	// Parts reads the parts of a value from first to last, as far as they are there, in order.
	Parts func(v *Value, first, last int64, each func(Part) error) error
	// Corrupt returns the error of the store for a value that is damaged.
	Corrupt func(problem string) error
}

// Read implements ReadValue of a [checkpoint.ValueStore]. It reads the parts that the bytes are in.
func (s *Values) Read(id string, offset int64, length int) ([]byte, int64, error) {
	if checkpoint.CheckValue(id) != nil { // none has been put
		return nil, 0, s.missing(id)
	}
	v, found, err := s.Row(id)
	if err == nil && !found {
		err = s.missing(id)
	}
	if err == nil {
		err = s.Check(&v)
	}
	if err != nil {
		return nil, 0, err
	}
	first, end := checkpoint.Span(v.Size, offset, length)
	if first == end {
		return nil, v.Size, nil
	}
	data := make([]byte, 0, end-first)
	next, last := first/partSize, (end-1)/partSize
	err = s.Parts(&v, next, last, func(p Part) error {
		begin := p.Number * partSize
		if p.Number != next || int64(len(p.Data)) != min(partSize, v.Size-begin) || sumOfPart(s.Key, id, p.Number, p.Data) != p.Sum {
			return s.damaged(id)
		}
		data = append(data, p.Data[max(0, first-begin):min(int64(len(p.Data)), end-begin)]...)
		next++
		return nil
	})
	if err == nil && next <= last {
		err = s.lost(&v)
	}
	if err != nil {
		return nil, 0, err
	}
	return data, v.Size, nil
}

// Check returns an error if the row of a value is damaged.
func (s *Values) Check(v *Value) error {
	if SumOfValue(s.Key, v.ID, v.Size) != v.Sum {
		return s.damaged(v.ID)
	}
	return nil
}

// lost returns why parts are missing: the run was deleted meanwhile, or they are damaged.
func (s *Values) lost(v *Value) error {
	now, found, err := s.Row(v.ID)
	switch {
	case err != nil:
		return err
	case !found || now.Run != v.Run:
		return s.missing(v.ID)
	default:
		return s.damaged(v.ID)
	}
}

func (s *Values) missing(id string) error {
	return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: s.Key, Problem: fmt.Sprintf("value %.64q", id)}
}

func (s *Values) damaged(id string) error {
	return s.Corrupt("the checksum of the run's value " + strconv.Quote(id) + " does not match, or a part of it is missing")
}
