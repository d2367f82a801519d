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

func order(ctx context.Context, s checkpoint.Store) error {
	want := numbered(1, 40)
	for i := range 12 { // one by one, then in batches
		if err := fill(ctx, s, run, want[i:i+1]); err != nil {
			return err
		}
	}
	for _, batch := range [][]checkpoint.Record{want[12:14], want[14:15], want[15:40]} {
		if err := fill(ctx, s, run, batch); err != nil {
			return err
		}
	}
	return expect(ctx, s, run, 1, want)
}

// refused checks that an Append of somebody else conflicts, and that the run is as it was.
func refused(ctx context.Context, s checkpoint.Store, kept, records []checkpoint.Record) error {
	b := batch(run, records...)
	b.Writer = other
	if err := wraps(s.Append(ctx, b), checkpoint.ErrConflict, "append of records %s after %d", places(records), len(kept)); err != nil {
		return err
	}
	if len(kept) > 0 {
		return expect(ctx, s, run, 1, kept)
	}
	return expectNone(ctx, s, run, 1)
}

func conflict(ctx context.Context, s checkpoint.Store) error {
	for _, seq := range []int{2, 0, -1, 100} {
		if err := refused(ctx, s, nil, journal(seq, "[]")); err != nil {
			return err
		}
	}
	kept := numbered(1, 3)
	if err := fill(ctx, s, run, kept); err != nil {
		return err
	}
	for _, seq := range []int{1, 2, 3, 5, 100, 0, -1} {
		if err := refused(ctx, s, kept, journal(seq, `"another"`)); err != nil {
			return err
		}
	}
	if err := refused(ctx, s, kept, kept[2:]); err != nil {
		return fmt.Errorf("the very same record, by another writer: %w", err)
	}
	if err := fill(ctx, s, run, journal(4, "[]")); err != nil {
		return fmt.Errorf("the next record, after conflicts: %w", err)
	}
	return nil
}

func conflictWithin(ctx context.Context, s checkpoint.Store) error {
	records := func(seqs ...int) (all []checkpoint.Record) {
		for _, seq := range seqs {
			all = append(all, journal(seq, fmt.Sprintf("[%d]", seq))...)
		}
		return all
	}
	for _, seqs := range [][]int{{1, 3}, {1, 1}, {1, 2, 4}, {2, 1}, {1, 2, 3, 2}} {
		if err := refused(ctx, s, nil, records(seqs...)); err != nil {
			return err
		}
	}
	kept := numbered(1, 2)
	if err := fill(ctx, s, run, kept); err != nil {
		return err
	}
	for _, seqs := range [][]int{{3, 5}, {3, 3}, {3, 4, 4}, {3, 2}, {2, 3}, {4, 3}, {3, 4, 5, 1}} {
		if err := refused(ctx, s, kept, records(seqs...)); err != nil {
			return err
		}
	}
	return nil
}

func noRecords(ctx context.Context, s checkpoint.Store) error {
	if err := wraps(s.Append(ctx, batch(run)), checkpoint.ErrNotFound, "append of no records, to no run"); err != nil {
		return err
	}
	if err := expectNone(ctx, s, run, 1); err != nil {
		return err
	}
	return wraps(s.Append(ctx, batch(named(""), journal(1, "[]")...)), checkpoint.ErrID, "append to a run without an id")
}

// runsApart uses ids that a careless key, path, pattern or collation takes for one another.
func runsApart(ctx context.Context, s checkpoint.Store) error {
	long := strings.Repeat("é", 255)
	ids := []string{
		"a", "A", "a ", " a", "a\n", "a/b", "a/", "/a", "a//b", "../a", ".", "..", `a\b`, "a%", "a_", "%", "a*", "a.b", "a:b", "a?b#c",
		"a'b", "a''b", `a"b`, "a`b", "'; DROP TABLE runs; --", "$1", "{}", "null", "0", "00", "1", "1.0",
		"caf\u00e9", "cafe\u0301", "\u65e5\u672c", "\U0001f642", "\u202ea", long + "a", long + "b", long + "ab", run.Run,
	}
	want := func(id string) []checkpoint.Record { return journal(1, fmt.Sprintf("%q", id), "2") }
	for i, id := range ids {
		if err := fill(ctx, s, named(id), want(id)[:1]); err != nil {
			return fmt.Errorf("after %q: %w", ids[:i], err)
		}
	}
	for _, id := range ids {
		if err := fill(ctx, s, named(id), want(id)[1:]); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := expect(ctx, s, named(id), 1, want(id)); err != nil {
			return err
		}
	}
	return nil
}

// noRunID uses texts that no store need take: each is refused, and nothing is kept under it, nor
// under what is left of it when it is cut or made valid.
func noRunID(ctx context.Context, s checkpoint.Store) error {
	long := strings.Repeat("é", checkpoint.MaxRunID/2)
	for _, id := range []string{long + "x", long + long, "a\x00b", "\x00", "a\xff", "\xed\xa0\x80", long[:checkpoint.MaxRunID-1]} {
		what := fmt.Sprintf("append to a run whose id has %d bytes and begins with %.8q", len(id), id)
		if err := wraps(s.Append(ctx, batch(named(id), journal(1, "[]")...)), checkpoint.ErrID, "%s", what); err != nil {
			return err
		}
		for _, kept := range []string{id, long, "a", "ab", "a\ufffd", "\ufffd"} {
			if err := expectNone(ctx, s, named(kept), 1); err != nil {
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
