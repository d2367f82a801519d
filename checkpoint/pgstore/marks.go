package pgstore

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// The classes of marks. They are part of the hashes in the database.
const (
	byStatus   = "status"
	byStrategy = "strategy"
	byOrigin   = "origin"
	byLabel    = "label"
	byWait     = "wait"
)

// mark is a property that runs are listed by, such as a label: the beginning of a hash, so that any
// text can be one, however long.
type mark [16]byte

func markOf(class, name, value string) (m mark) {
	text := append([]byte(class), 0)
	text = append(strconv.AppendInt(text, int64(len(name)), 10), 0)
	text = append(append(text, name...), value...)
	hash := sha256.Sum256(text)
	copy(m[:], hash[:])
	return m
}

// described is a header as it is stored.
type described struct {
	text  string // JSON
	crc   int32
	state mark
	marks []mark
	due   *int64
}

// describe returns how the header of a batch is stored.
func describe(key checkpoint.Key, header *checkpoint.Header) (*described, error) {
	text, err := json.Marshal(header)
	if err != nil {
		return nil, fmt.Errorf("pgstore: run %.64q: the header cannot be stored: %w", key.String(), err)
	}
	var h checkpoint.Header // as it will be read
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("pgstore: run %.64q: the header cannot be stored: %w", key.String(), err)
	}
	d := &described{text: string(text), crc: sum(key, "head", "", text), state: markOf(byStatus, "", string(h.Status)), marks: marksOf(&h)}
	if !h.Due.IsZero() {
		due := tables.Nanos(h.Due)
		d.due = &due
	}
	return d, nil
}

// marksOf returns the marks of a run, each once.
func marksOf(h *checkpoint.Header) []mark {
	list := []mark{}
	if h.Strategy != "" {
		list = append(list, markOf(byStrategy, "", h.Strategy))
	}
	if h.Origin.Run != "" {
		list = append(list, markOf(byOrigin, "", h.Origin.Run))
	}
	for name, value := range h.Labels {
		list = append(list, markOf(byLabel, name, value))
	}
	for _, wait := range h.Waits {
		list = append(list, markOf(byWait, "", wait.Kind))
	}
	slices.SortFunc(list, func(a, b mark) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(list)
}

// sum returns the checksum of data of a run, as it is stored.
func sum(key checkpoint.Key, name, kind string, data []byte) int32 {
	return int32(tables.Sum(key, name, kind, data))
}
