// Package tables holds what the stores that keep runs in tables of a database have in common: the
// form of what is stored.
package tables

import (
	"hash/crc32"
	"math"
	"strconv"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the checksum of data of a run. It covers the run, the name and the kind of the data
// as well, so that they cannot pass for other data.
func Sum(key checkpoint.Key, name, kind string, data []byte) uint32 {
	var room [256]byte
	bound := append(room[:0], key.Namespace...)
	for _, part := range []string{key.Run, name, kind} {
		bound = append(append(bound, 0), part...)
	}
	bound = append(bound, 0)
	return crc32.Update(crc32.Checksum(bound, castagnoli), castagnoli, data)
}

// SumOfSnapshot returns the checksum of a snapshot.
func SumOfSnapshot(key checkpoint.Key, s *checkpoint.Snapshot) uint32 {
	return Sum(key, "snapshot", strconv.Itoa(s.Records), s.Data)
}

// Nanos returns a time as it is stored: in nanoseconds since 1970. A time for which there is no
// room becomes the first or the last one.
func Nanos(t time.Time) int64 {
	switch year := t.UTC().Year(); {
	case year < 1678:
		return math.MinInt64
	case year > 2261:
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

// BytesOf returns data that are not nil: nil would be stored as NULL.
func BytesOf(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
