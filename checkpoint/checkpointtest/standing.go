package checkpointtest

import (
	"strings"

	"github.com/segue-go/segue/checkpoint"
)

// Standing is how a run stands by the rules of the contract, as far as [Contend] looks. The zero
// value is the run that there is not. Two are the same if they are equal by ==.
type Standing struct {
	last   int
	epoch  int64
	writer string // of the last records
	holder string // of the lease, which does not run out
	chain  string // who has written each record
}

// After returns how the run may stand after an operation: in no way if the contract forbids what
// was told, in two if that is unclear.
func (s Standing) After(o Operation) []Standing {
	if o.asked == "Append" {
		return s.afterAppend(o)
	}
	if s.last == 0 {
		return s.onlyIf(o.told == checkpoint.ErrNotFound) //nolint:errorlint // it is never wrapped
	}
	switch o.asked {
	case "Head":
		return s.onlyIf(o.told == nil && s.is(o.head))
	case "Read":
		return s.onlyIf(o.told == nil && s.chain == o.chain)
	default:
		return s.afterLease(o)
	}
}

func (s Standing) onlyIf(allowed bool) []Standing {
	if !allowed {
		return nil
	}
	return []Standing{s}
}

// is compares with a head.
func (s Standing) is(h checkpoint.Head) bool {
	return s.last == h.Last && s.epoch == h.Epoch && s.holder == h.Lease.Writer
}

func (s Standing) afterLease(o Operation) []Standing {
	switch mine := s.holder == o.writer; {
	case o.lease <= 0 && mine:
		s.holder = ""
	case o.lease <= 0 || mine:
	case s.holder != "":
		return s.onlyIf(o.told == checkpoint.ErrLeased) //nolint:errorlint // it is never wrapped
	default:
		s.holder = o.writer
		s.epoch++
	}
	return s.onlyIf(o.told == nil && s.is(o.head))
}

func (s Standing) afterAppend(o Operation) []Standing {
	next, want := s.appended(&o.batch)
	if o.told == errUnclear { //nolint:errorlint // it is never wrapped
		if want != nil || next == s {
			return []Standing{s}
		}
		return []Standing{s, next}
	}
	return next.onlyIf(o.told == want) //nolint:errorlint // it is never wrapped
}

// appended returns how the run stands after a batch, or what refuses it.
func (s Standing) appended(b *checkpoint.Batch) (Standing, error) {
	n := len(b.Records)
	switch {
	case s.last == 0 && n == 0:
		return s, checkpoint.ErrNotFound
	case n > 0 && s.writer == b.Writer && b.Records[n-1].Seq == s.last:
		return s, nil // it is there already
	case s.last > 0 && b.Epoch < s.epoch:
		return s, checkpoint.ErrFenced
	case n > 0 && b.Records[0].Seq != s.last+1:
		return s, checkpoint.ErrConflict
	}
	if b.Epoch > s.epoch {
		s.holder = ""
	}
	s.last, s.epoch = s.last+n, b.Epoch
	if n > 0 {
		s.writer = b.Writer
		s.chain += strings.Repeat(b.Writer+" ", n)
	}
	switch {
	case b.Lease > 0:
		s.holder = b.Writer
	case b.Lease < 0 && s.holder == b.Writer:
		s.holder = ""
	}
	return s, nil
}
