package filetools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
)

type searchArgs struct {
	Pattern string `json:"pattern" jsonschema:"a regular expression in the syntax of RE2; begin it with (?i) to ignore case"`
	Path    string `json:"path,omitempty" jsonschema:"the folder, or the file, to search; everything if left out"`
	Glob    string `json:"glob,omitempty" jsonschema:"search only files that match it, such as *.go or src/**/*.md"`
}

// maxLine is the number of bytes shown of a matching line.
const maxLine = 300

func (f *folder) search(ctx context.Context, in searchArgs) (string, error) {
	dir, err := f.resolve(in.Path)
	if err != nil {
		return "", err
	}
	pattern, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", fmt.Errorf("filetools: the pattern is not a regular expression: %w", err)
	}
	l := &lines{most: f.cfg.MaxResults}
	tooLarge, skipped := 0, 0
	skip := f.skipBelow(dir)
	l.complete, err = f.walk(ctx, dir, in.Glob, func(name string, size int64) bool {
		if skip(name) {
			skipped++
			return true
		}
		if size > int64(f.cfg.MaxSearch) {
			tooLarge++
			return true
		}
		return f.searchFile(name, pattern, l)
	})
	if err != nil {
		return "", err
	}
	out := l.text("nothing found")
	if tooLarge > 0 {
		out += fmt.Sprintf("\n[%d files were left out: they have more than %d bytes]", tooLarge, f.cfg.MaxSearch)
	}
	if skipped > 0 {
		out += fmt.Sprintf("\n[%d files were left out: they are searched only by their own path]", skipped)
	}
	return out, nil
}

// skipBelow returns a function that reports whether a search that begins at dir leaves a file out.
func (f *folder) skipBelow(dir string) func(name string) bool {
	if f.cfg.Skip == nil || f.cfg.Skip(dir) {
		return func(string) bool { return false }
	}
	return f.cfg.Skip
}

// searchFile adds the matching lines. A file that cannot be read has none.
func (f *folder) searchFile(name string, pattern *regexp.Regexp, l *lines) (more bool) {
	file, size, err := f.open(name, regularFile)
	if err != nil {
		return true
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, size))
	if err != nil || isBinary(data[:min(sniffed, len(data))]) {
		return true
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimRight(line, "\r\n")
		if pattern.Match(line) && !l.add(fmt.Sprintf("%s:%d: %s", name, number, shorten(line))) {
			return false
		}
	}
	return true
}

func shorten(line []byte) string {
	if len(line) > maxLine {
		return text(string(line[:maxLine])) + "…"
	}
	return text(string(line))
}
