package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/checkpoint"
)

var run = named("0197b5a8-1c52-7e7b-9f43-5d1c6a0e2b11")

// apart uses keys that a careless key, path, pattern or collation takes for one another, or that are
// one text when they are put together carelessly.
func apart(ctx context.Context, s checkpoint.Store) error {
	long := strings.Repeat("é", 255)
	keys := []checkpoint.Key{
		{Namespace: "a", Run: "b/c"},
		{Namespace: "a/b", Run: "c"},
		{Namespace: "a/", Run: "b/c"},
		{Namespace: "a", Run: "b"},
		{Namespace: "b", Run: "a"},
		{Namespace: "ab", Run: "ab"},
		{Namespace: "a", Run: "/b"},
		{Namespace: "a\n", Run: "b"},
		{Namespace: "a", Run: "\nb"},
		{Namespace: "null", Run: "b"},
		{Namespace: "0", Run: "b"},
		{Namespace: long + "é", Run: "b"},
		{Namespace: long, Run: "éb"},
	}
	for _, id := range []string{
		"a", "A", "a ", " a", "a\n", "a/b", "a/b/c", "a/", "/a", "a//b", "../a", ".", "..", `a\b`, "a%", "a_", "%", "a*", "ab", "a.b", "a:b", "a?b#c",
		"a'b", "a''b", `a"b`, "a`b", "'; DROP TABLE runs; --", "$1", "{}", "null", "0", "00", "1", "1.0",
		"caf\u00e9", "cafe\u0301", "\u65e5\u672c", "\U0001f642", "\u202ea", long + "a", long + "b", long + "ab",
	} {
		keys = append(keys, named(id))
	}
	for _, text := range oddTexts { // the first one is no namespace
		keys = append(keys, checkpoint.Key{Namespace: text, Run: run.Run})
	}
	want := func(i int) []checkpoint.Record { return journal(1, fmt.Sprint(i), "2") }
	for i, key := range keys {
		if err := fill(ctx, s, key, want(i)[:1]); err != nil {
			return fmt.Errorf("after %q: %w", keys[:i], err)
		}
	}
	for i, key := range keys {
		if err := errors.Join(fill(ctx, s, key, want(i)[1:]), expect(ctx, s, key, 1, want(i))); err != nil {
			return err
		}
	}
	return nil
}

// noRunID uses texts that no store need take, as ids and as namespaces: each is refused, and nothing
// is kept under it, nor under what is left of it when it is cut or made valid.
func noRunID(ctx context.Context, s checkpoint.Store) error {
	if err := wraps(s.Append(ctx, batch(named(""), numbered(1, 1)...)), checkpoint.ErrID, "append to a run without an id"); err != nil {
		return err
	}
	long := strings.Repeat("é", checkpoint.MaxRunID/2)
	for _, id := range []string{long + "x", long + long, "a\x00b", "\x00", "a\xff", "\xed\xa0\x80", long[:checkpoint.MaxRunID-1]} {
		what := fmt.Sprintf("append to a run whose id has %d bytes and begins with %.8q", len(id), id)
		if err := wraps(s.Append(ctx, batch(named(id), journal(1, "[]")...)), checkpoint.ErrID, "%s", what); err != nil {
			return err
		}
		inside := checkpoint.Key{Namespace: id, Run: "b"}
		if err := errors.Join(wraps(s.Append(ctx, batch(inside, numbered(1, 1)...)), checkpoint.ErrID, "%s", what), expectNone(ctx, s, inside)); err != nil {
			return fmt.Errorf("in a namespace: %w", err)
		}
		for _, kept := range []string{id, long, "a", "ab", "a\ufffd", "\ufffd"} {
			if err := expectNone(ctx, s, named(kept)); err != nil {
				return fmt.Errorf("after %s: %w", what, err)
			}
		}
	}
	return nil
}

func bytesKept(ctx context.Context, s checkpoint.Store) error {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	want := journal(1,
		`{"b":1,"a":2,"b":3}`, " {\n\t\"a\" : 1.50 } \n", `12345678901234567890.1e+400`, `"\u0000\u001f\ud800 \/ \u00e9 <&>"`, "\"\u2028 \U0001f642 \x7f\"",
		`'; DROP TABLE runs; --`, string(all), "\x00", `"\\x00"`, "", "",
	)
	want[len(want)-1].Data = nil
	if err := fill(ctx, s, run, want[:4]); err != nil {
		return err
	}
	for _, r := range want[4:] {
		if err := fill(ctx, s, run, []checkpoint.Record{r}); err != nil {
			return err
		}
	}
	return expect(ctx, s, run, 1, want)
}

// largeRecords appends some of a mebibyte, among small ones, and one of eight.
func largeRecords(ctx context.Context, s checkpoint.Store) error {
	mebibyte := strings.Repeat("0123456789abcdef", 1<<16)
	want := journal(1, "1", mebibyte, "3", mebibyte, strings.Repeat(mebibyte, 8), "6")
	for i := 0; i < len(want); i += 2 {
		if err := fill(ctx, s, run, want[i:i+2]); err != nil {
			return err
		}
	}
	return expect(ctx, s, run, 1, want)
}

// manyRecords appends 10,000 in one batch, and a few behind them.
func manyRecords(ctx context.Context, s checkpoint.Store) error {
	const many = 10_000
	want := numbered(1, many+3)
	b := batch(run, want[:many]...)
	if err := errors.Join(put(ctx, s, b), retried(ctx, s, b)); err != nil {
		return err
	}
	for i := many; i < len(want); i++ {
		if err := fill(ctx, s, run, want[i:i+1]); err != nil {
			return err
		}
	}
	return errors.Join(expect(ctx, s, run, 1, want), expect(ctx, s, run, many-1, want[many-2:]))
}

// slicesNotKept writes over what it handed to Append.
func slicesNotKept(ctx context.Context, s checkpoint.Store) error {
	want := numbered(1, 6)
	handed := clone(want)
	for _, batch := range [][]checkpoint.Record{handed[:1], handed[1:]} {
		if err := fill(ctx, s, run, batch); err != nil {
			return err
		}
		scribble(batch)
		clear(batch)
	}
	return expect(ctx, s, run, 1, want)
}

// dataOwned writes over what it got from Read.
func dataOwned(ctx context.Context, s checkpoint.Store) error {
	want := numbered(1, 6)
	if err := fill(ctx, s, run, clone(want)); err != nil {
		return err
	}
	got, err := read(ctx, s, run, 1)
	if err != nil {
		return err
	}
	scribble(got)
	for i := range got { // nor does one record's room reach into the next
		got[i].Data = append(got[i].Data, bytes.Repeat([]byte("#"), 64)...)
	}
	return expect(ctx, s, run, 1, want)
}

func scribble(records []checkpoint.Record) {
	for _, r := range records {
		for i := range r.Data {
			r.Data[i] = '#'
		}
	}
}
