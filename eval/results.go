package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Results is a file of JSON Lines with the trials of an evaluation: a [Header], and a line for each
// trial as it ended. Its methods are not for several goroutines.
type Results struct {
	file *os.File
	path string
}

// Header is the first line of the results.
type Header struct {
	Version  int      `json:"v"` // 1
	Suite    string   `json:"suite"`
	Of       string   `json:"of"` // Suite.Digest
	Variants []string `json:"variants"`
	Cases    int      `json:"cases"`
	Repeat   int      `json:"repeat"`
}

const version = 1

// OpenResults opens a file of results, or makes it. Only one process may have it open.
func OpenResults(path string) (*Results, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	return &Results{file: file, path: path}, nil
}

// Close closes the file.
func (r *Results) Close() error { return r.file.Close() }

// begin tells of the trials that are there, and writes the header if there is none. What a crash
// has left of a last line goes.
func (r *Results) begin(s *Suite, of string, tell func(*Trial)) error {
	if r == nil {
		return nil
	}
	h, whole, err := read(r.file, r.path, tell)
	if err != nil {
		return err
	}
	if h != nil && h.Suite != s.Name {
		return fmt.Errorf("eval: %s holds results of the suite %q, and not of %q: choose another file", r.path, h.Suite, s.Name)
	}
	if err := r.file.Truncate(whole); err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	if h != nil {
		return nil
	}
	head := Header{Version: version, Suite: s.Name, Of: of, Cases: len(s.Cases), Repeat: max(s.Repeat, 1)}
	for _, v := range s.Variants {
		head.Variants = append(head.Variants, v.Name)
	}
	return r.write(head)
}

func (r *Results) add(t *Trial) error {
	if r == nil {
		return nil
	}
	return r.write(t)
}

// write writes a line at once, so that a crash leaves no more than a part of the last one.
func (r *Results) write(v any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	if err == nil {
		_, err = r.file.Write(line.Bytes())
	}
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	return nil
}

// ReadResults reads the results in a file, and returns their report. A trial that was made again
// counts as it was made last.
func ReadResults(path string) (*Report, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	last := map[place]Trial{}
	var order []place
	h, _, err := read(file, path, func(t *Trial) {
		at := place{variant: t.Variant, name: t.Case, n: t.N}
		if _, again := last[at]; !again {
			order = append(order, at)
		}
		t.Answer, t.Calls = "", nil
		last[at] = *t
	})
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("eval: %s holds no results", path)
	}
	report := &Report{Suite: h.Suite, Of: h.Of, Planned: h.Cases * len(h.Variants) * h.Repeat}
	for _, name := range h.Variants {
		report.Variants = append(report.Variants, &VariantReport{Name: name})
	}
	for _, at := range order {
		t := last[at]
		report.add(&t)
	}
	return report, nil
}

// read reads the header, which is nil in an empty file, and the trials. whole is where the last
// whole line ends.
func read(from io.Reader, path string, tell func(*Trial)) (h *Header, whole int64, err error) {
	lines := bufio.NewReader(from)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return h, whole, nil
		}
		if err == nil && h == nil {
			h = &Header{}
			err = json.Unmarshal(line, h)
			if err == nil && h.Version != version {
				return nil, 0, fmt.Errorf("eval: %s: version %d is not known, only %d: read it with the program that wrote it", path, h.Version, version)
			}
		} else if err == nil {
			var t Trial
			if err = json.Unmarshal(line, &t); err == nil {
				tell(&t)
			}
		}
		if err != nil {
			return nil, 0, fmt.Errorf("eval: %s, line %d: %w", path, n, err)
		}
		whole += int64(len(line))
	}
}
