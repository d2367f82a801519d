package soak

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/segue-go/segue/checkpoint"
)

// witness is a file of one process beside the store. A line is flushed to the disk before note
// returns.
type witness struct {
	mu   sync.Mutex
	file *os.File
}

// openWitness makes the file of a kind of lines for a process.
func openWitness(dir, kind string, process int) (*witness, error) {
	file, err := os.OpenFile(witnessPath(dir, kind, process), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &witness{file: file}, err
}

func witnessPath(dir, kind string, process int) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%06d.jsonl", kind, process))
}

// note writes a line.
func (w *witness) note(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.Write(append(data, '\n')); err != nil {
		return err
	}
	return w.file.Sync()
}

// readWitness returns the lines of a file from a place on, and the place behind them. What comes
// after the last line is broken off: nobody was told that it was written.
func readWitness[T any](file string, from int64) (lines []T, to int64, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	for data = data[from:]; ; {
		text, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return lines, from, nil
		}
		var line T
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, from, fmt.Errorf("%s: %w", file, err)
		}
		lines, data, from = append(lines, line), rest, from+int64(len(text))+1
	}
}

// The kinds of lines.
const (
	ofAcks    = "acks"
	ofEffects = "effects"
	ofAnswers = "answers"
)

// ack says that the store has acknowledged a record.
type ack struct {
	Run string `json:"run"`
	Seq int    `json:"seq"`
	Sum string `json:"sum"` // of its type and data
}

func sumOf(r *checkpoint.Record) string {
	sum := sha256.Sum256(append([]byte(r.Type+";"), r.Data...))
	return hex.EncodeToString(sum[:])
}

// effect says that a tool has had its effect.
type effect struct {
	Tool string `json:"tool"`
	Mark string `json:"mark"`
	Key  string `json:"key"`
}

// said is what a person replies to a wait.
type said struct {
	Run     string `json:"run"`
	Wait    string `json:"wait"`
	Kind    string `json:"kind"`
	Mark    string `json:"mark"` // of the call
	Approve bool   `json:"approve"`
}

// acknowledged is a store that notes each record that another one has acknowledged.
type acknowledged struct {
	checkpoint.Store
	acks  *witness
	reads func() // is called when a journal is read, as it is to take up a run
}

// Unwrap returns the other one, for its abilities.
func (s *acknowledged) Unwrap() checkpoint.Store { return s.Store }

// Read implements [checkpoint.Store].
func (s *acknowledged) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	s.reads()
	return s.Store.Read(ctx, key, from)
}

// Append implements [checkpoint.Store].
func (s *acknowledged) Append(ctx context.Context, b checkpoint.Batch) error {
	if err := s.Store.Append(ctx, b); err != nil {
		return err
	}
	for i := range b.Records {
		r := &b.Records[i]
		if err := s.acks.note(ack{Run: b.Key.Run, Seq: r.Seq, Sum: sumOf(r)}); err != nil {
			return err
		}
	}
	return nil
}
