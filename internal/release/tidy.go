package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tidy tidies the modules of the working tree at their current version. Checksums of the modules
// themselves stay unchanged: they are those of the release.
func (s *session) tidy(ctx context.Context, v string) error {
	if err := s.prepare(ctx, v); err != nil {
		return err
	}
	for _, m := range s.modules {
		file := filepath.Join(m.dir, "go.sum")
		before, err := readSums(filepath.Join(s.source, file))
		if err != nil {
			return err
		}
		after, err := readSums(filepath.Join(s.dir, file))
		if err != nil {
			return err
		}
		at := max(0, slices.IndexFunc(after, s.ownSum))
		released := slices.DeleteFunc(slices.Clone(before), func(l string) bool { return !s.ownSum(l) })
		sums := slices.Insert(slices.DeleteFunc(after, s.ownSum), at, released...)
		if err := writeSums(filepath.Join(s.dir, file), sums); err != nil {
			return err
		}
	}
	return s.copyBack(ctx)
}

// ownSum reports whether a line of go.sum is about a module of the workspace.
func (s *session) ownSum(line string) bool {
	path, _, _ := strings.Cut(line, " ")
	return s.own(path)
}

func (s *session) dropOwnSums(dir string) error {
	file := filepath.Join(dir, "go.sum")
	sums, err := readSums(file)
	if err != nil {
		return err
	}
	return writeSums(file, slices.DeleteFunc(sums, s.ownSum))
}

// readSums returns the lines of a go.sum. A missing file has none.
func readSums(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.Collect(strings.Lines(string(data))), err
}

// writeSums writes the lines of a go.sum. Without lines it writes no file.
func writeSums(file string, lines []string) error {
	if len(lines) == 0 {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644)
}
