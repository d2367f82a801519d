package checkpointtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// oddTexts are what a careless column, path, pattern or quotation changes.
var oddTexts = []string{
	"", " ", "a", "A", "a.b", "$.a", "$", "a\"b", "a'b", "''", "`", "\\", "\\u0000", "{}", "[0]", "null", "true", "1", "1.0", "01", "%", "_", "*",
	"\n", "\t", "\x01\x7f", "caf\u00e9", "cafe\u0301", "\u65e5\u672c", "\U0001f642", "<&>", "\u2028", "a=b,c", "; DROP TABLE runs; --",
	strings.Repeat("é", 200),
}

// fullHeader has every field, with labels of every odd name and value.
func fullHeader() checkpoint.Header {
	h := checkpoint.Header{
		Status: checkpoint.StatusWaiting, Strategy: "plan_revise-execute/2", Format: 3, Version: "v1.2.3-0.20260101 (devel) \"x\"",
		Reason: "it waits for \"O'Brien\"\n\u2028and <others> \U0001f642", Waits: []checkpoint.Wait{{ID: "0.1/7/2", Kind: "approval"}, {}, {ID: "é", Kind: "a'b"}},
		Due:    time.Date(2031, 2, 3, 4, 5, 6, 789_012_345, time.FixedZone("", 3600)),
		Origin: checkpoint.Origin{Run: "a 'run' / of another", Record: 12345}, Labels: map[string]string{},
	}
	h.Labels["nul\x00"] = "\x00"
	for i, name := range oddTexts {
		h.Labels[name] = oddTexts[len(oddTexts)-1-i]
	}
	return h
}

// headers replaces one header by another, and keeps one by none.
func headers(ctx context.Context, s checkpoint.Store) error {
	want := checkpoint.Head{Key: run, Epoch: 1}
	all := []checkpoint.Header{fullHeader(), {Status: checkpoint.StatusRunning}, fullHeader(), {Status: checkpoint.StatusParked, Reason: "so"}}
	for _, status := range []checkpoint.Status{checkpoint.StatusWaiting, checkpoint.StatusDone, checkpoint.StatusFailed, checkpoint.StatusLimit, checkpoint.StatusStopped} {
		all = append(all, checkpoint.Header{Status: status, Due: time.Unix(1<<32, 0)})
	}
	var created time.Time
	for _, h := range all {
		b := batch(run, numbered(want.Last+1, 2)...)
		b.Header = &h
		want.Last, want.Header = want.Last+2, h
		if err := put(ctx, s, b); err != nil {
			return err
		}
		if err := expectHead(ctx, s, want); err != nil {
			return err
		}
		if got, err := s.Head(ctx, run); err != nil || !created.IsZero() && !got.Created.Equal(created) {
			return fmt.Errorf("a run that was created at %s was then created at %s (error %w)", created, got.Created, err)
		} else {
			created = got.Created
		}
		b.Records, b.Header = numbered(want.Last+1, 1), nil
		want.Last++
		if err := put(ctx, s, b); err != nil {
			return err
		}
		if err := expectHead(ctx, s, want); err != nil {
			return fmt.Errorf("after a batch without a header: %w", err)
		}
	}
	return nil
}

// headersNotKept writes over what it handed to Append, and over what it got from Head.
func headersNotKept(ctx context.Context, s checkpoint.Store) error {
	want := checkpoint.Head{Key: run, Header: fullHeader(), Last: 1, Epoch: 1}
	spoil := func(h *checkpoint.Header) {
		h.Status = "spoilt"
		clear(h.Waits)
		maps.DeleteFunc(h.Labels, func(string, string) bool { return true })
		h.Labels["spoilt"] = "yes"
	}
	b := batch(run, numbered(1, 1)...)
	handed := fullHeader()
	b.Header = &handed
	if err := put(ctx, s, b); err != nil {
		return err
	}
	spoil(&handed)
	if err := expectHead(ctx, s, want); err != nil {
		return fmt.Errorf("after the caller has changed the header that was appended: %w", err)
	}
	got, err := s.Head(ctx, run)
	if err != nil {
		return err
	}
	spoil(&got.Header)
	if err := expectHead(ctx, s, want); err != nil {
		return fmt.Errorf("after the caller has changed the head that it got: %w", err)
	}
	return nil
}

// types keeps the types of records.
func types(ctx context.Context, s checkpoint.Store) error {
	var want []checkpoint.Record
	texts := slices.DeleteFunc(slices.Clone(oddTexts), func(text string) bool {
		return len(text) > 64 || strings.ContainsFunc(text, func(r rune) bool { return r > 127 })
	})
	for i, text := range append(texts, strings.Repeat("x", 64), "Start", "start") {
		want = append(want, checkpoint.Record{Seq: i + 1, Type: text, Data: []byte(fmt.Sprint(i))})
	}
	for _, records := range [][]checkpoint.Record{want[:1], want[1:2], want[2:]} {
		if err := fill(ctx, s, run, records); err != nil {
			return err
		}
	}
	return expect(ctx, s, run, 1, want)
}
