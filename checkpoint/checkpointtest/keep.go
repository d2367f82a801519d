package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// beside is a check that compares a store with a Memory.
func beside(do func(*pair) error) check {
	return func(ctx context.Context, s checkpoint.Store) error { return do(newPair(ctx, s)) }
}

// optional forgives a store what it is not able to.
func optional(err error) error {
	if _, lacks := errors.AsType[lacking](err); lacks {
		return nil
	}
	return err
}

// oddTexts are what a careless column, path, pattern or quotation changes.
var oddTexts = []string{
	"", " ", "a", "A", "a.b", "$.a", "$", "a\"b", "a'b", "''", "`", "\\", "\\u0000", "{}", "[0]", "null", "true", "1", "1.0", "01", "%", "_", "*",
	"\n", "\t", "\x01\x7f", "caf\u00e9", "cafe\u0301", "\u65e5\u672c", "\U0001f642", "<&>", "\u2028", "a=b,c", "; DROP TABLE runs; --",
	strings.Repeat("é", 200),
}

// apart uses keys that a careless key, path, pattern or collation takes for one another, or that
// are one text when they are put together carelessly.
func apart(p *pair) error {
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
	for _, id := range append([]string{
		"a ", " a", "a\n", "a/b", "a/b/c", "a/", "/a", "a//b", "../a", ".", "..", `a\b`, "a%", "a_", "a*", "ab", "a:b", "a?b#c",
		"a''b", "a`b", "$1", "0", "00", "\u202ea", long + "a", long + "b", long + "ab",
	}, oddTexts[1:]...) {
		keys = append(keys, named(id))
	}
	for _, text := range oddTexts { // the first one is no namespace
		keys = append(keys, checkpoint.Key{Namespace: text, Run: run.Run})
	}
	for i, key := range keys {
		if err := p.fill(key, journal(1, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	return p.compare(keys...)
}

// noRunID uses texts that no store need take, as ids and as namespaces: each is refused, and
// nothing is kept under it, nor under what is left of it when it is cut or made valid.
func noRunID(p *pair) error {
	long := strings.Repeat("é", checkpoint.MaxRunID/2)
	for _, id := range []string{"", long + "x", long + long, "a\x00b", "\x00", "a\xff", "\xed\xa0\x80", long[:checkpoint.MaxRunID-1]} {
		for _, key := range []checkpoint.Key{named(id), {Namespace: id, Run: "b"}} {
			if key.Namespace == "" && key.Run == "b" {
				continue
			}
			err := errors.Join(p.fill(key, journal(1, "[]")), optional(p.save(key, snapshotOf(key, 1))), optional(p.put(key, "a", nil)))
			if err != nil {
				return fmt.Errorf("a key that is not valid: %w", err)
			}
		}
		if err := p.compare(named(long), named("a"), named("ab"), named("a\ufffd"), named("\ufffd")); err != nil {
			return fmt.Errorf("after an append to a run whose id has %d bytes and begins with %.8q: %w", len(id), id, err)
		}
	}
	return nil
}

// dataKept appends, posts, saves and puts any bytes.
func dataKept(p *pair) error {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	mebibyte := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for i, d := range [][]byte{
		all, nil,
		{},
		[]byte(`{"b":1,"a":2,"b":3}`), []byte(" {\n\t\"a\" : 1.50 } \n"), []byte(`12345678901234567890.1e+400`),
		[]byte(`"\u0000\u001f\ud800 \/ \u00e9 <&>"`), []byte("\"\u2028 \U0001f642 \x7f\""), []byte(`'; DROP TABLE runs; --`), []byte("\x00"), []byte(`"\\x00"`),
		mebibyte, []byte("small"), bytes.Repeat(mebibyte, 8),
	} {
		id, records := fmt.Sprint("bytes-", i), []checkpoint.Record{{Seq: i + 1, Data: d}}
		if len(d) >= len(mebibyte) && p.isTooLarge(batch(run, records...)) {
			return nil
		}
		if err := p.fill(run, records); err != nil {
			return err
		}
		if len(d) > len(mebibyte) {
			continue
		}
		m := note(run, id)
		m.Data = d
		if err := errors.Join(
			optional(p.post(m)), optional(p.post(note(run, id))), // the first text of a message stays
			optional(p.save(run, checkpoint.Snapshot{Records: 1, Data: d})), optional(p.put(run, id, d)),
		); err != nil {
			return err
		}
	}
	return nil
}

// typesKept keeps the types of records.
func typesKept(p *pair) error {
	var records []checkpoint.Record
	for _, text := range append(oddTexts, strings.Repeat("x", 64), "Start", "start") {
		if len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool { return r > 127 }) {
			records = append(records, checkpoint.Record{Seq: len(records) + 1, Type: text})
		}
	}
	return errors.Join(p.fill(run, records[:1]), p.fill(run, records[1:]))
}

// fullHeader has every field, with labels of every odd name and value.
func fullHeader() *checkpoint.Header {
	h := checkpoint.Header{
		Status: checkpoint.StatusWaiting, Strategy: "plan_revise-execute/2", Format: 3, Version: "v1.2.3-0.20260101 (devel) \"x\"",
		Reason: "it waits for \"O'Brien\"\n\u2028and <others> \U0001f642", Waits: []checkpoint.Wait{{ID: "0.1/7/2", Kind: "approval"}, {}, {ID: "é", Kind: "a'b"}},
		Due:    time.Date(2031, 2, 3, 4, 5, 6, 789_012_345, time.FixedZone("", 3600)),
		Origin: checkpoint.Origin{Run: "a 'run' / of another", Record: 12345}, Labels: map[string]string{"nul\x00": "\x00"},
	}
	for i, name := range oddTexts {
		h.Labels[name] = oddTexts[len(oddTexts)-1-i]
	}
	return &h
}

// headers replaces one header by another, and keeps one by none.
func headers(p *pair) error {
	late := time.Unix(1<<32, 0)
	for i, h := range []*checkpoint.Header{
		fullHeader(), nil,
		{Status: checkpoint.StatusRunning},
		nil, fullHeader(),
		{Status: checkpoint.StatusParked, Reason: "so"},
		nil,
		{Status: checkpoint.StatusDone, Due: late},
		{Status: checkpoint.StatusFailed, Due: late},
		{Status: checkpoint.StatusLimit},
		{Status: checkpoint.StatusStopped},
	} {
		b := batch(run, numbered(2*i+1, 2)...)
		b.Header = h
		if err := p.append(b); err != nil {
			return err
		}
	}
	return nil
}

// manyRecords appends 10,000 in one batch, and a few behind them.
func manyRecords(p *pair) error {
	const many = 10_000
	all := numbered(1, many+3)
	b := batch(run, all[:many]...)
	if p.isTooLarge(b) {
		return nil
	}
	return errors.Join(p.append(b), p.append(b), p.fill(run, all[many:many+1]), p.fill(run, all[many+1:]), p.read(run, many-1))
}

func from(p *pair) error {
	err := p.fill(run, numbered(1, 300)) // more than a page, if there are pages
	for _, first := range []int{-1, 0, 1, 2, 99, 100, 101, 256, 300, 301, 1 << 30} {
		err = errors.Join(err, p.read(run, first))
	}
	return err
}

// inboxes asks for the messages to several runs.
func inboxes(p *pair) error {
	another := checkpoint.Key{Namespace: "a", Run: run.Run}
	for i, key := range []checkpoint.Key{run, another, run} {
		if err := errors.Join(p.fill(key, numbered(1+i/2, 1)), p.post(note(key, fmt.Sprint(9-i)))); err != nil {
			return err
		}
	}
	for _, keys := range [][]checkpoint.Key{nil, {named("missing"), another, named(""), run}, {run, another}} {
		if err := p.same("messages to several runs", func(v *view) (string, error) { return v.posted(p.ctx, false, keys...) }); err != nil {
			return err
		}
	}
	return nil
}

// valueRanges reads ranges of values at and beside every place where one could be cut.
func valueRanges(p *pair) error {
	const part = 64 << 10
	if err := p.fill(run, numbered(1, 1)); err != nil {
		return err
	}
	for _, size := range []int{0, 1, 1000, part - 1, part, part + 1, 3*part + 5} {
		id := fmt.Sprint("of-", size)
		if err := p.put(run, id, valueOf("range", size)); err != nil {
			return err
		}
		for _, offset := range []int{-5, 0, 1, part - 2, part - 1, part, part + 1, 2*part - 1, 2 * part, 3 * part, size - 1, size, size + 1, 1 << 30} {
			for _, length := range []int{-1, 0, 1, 2, part, part + 1, 2 * part, 1 << 30} {
				if err := p.value(run, id, int64(offset), length); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// valueIDs puts values under ids that can be, and that cannot.
func valueIDs(p *pair) error {
	if err := p.fill(run, numbered(1, 1)); err != nil {
		return err
	}
	for _, id := range []string{
		"", "a b", "a\n", "ä", "\x00", "a\x7f", strings.Repeat("x", 65),
		"a", "A", "%", "_", "'", "!", "~", strings.Repeat("x", 64),
	} {
		if err := errors.Join(p.put(run, id, valueOf(id, 9)), p.value(run, id, 0, 9)); err != nil {
			return err
		}
	}
	return nil
}

// deletesMany deletes many runs at once, and no others.
func deletesMany(p *pair) error {
	var gone []checkpoint.Key
	for i := range 40 {
		key := checkpoint.Key{Namespace: strings.Repeat("n", i%2), Run: fmt.Sprint("run ", i/2)}
		if err := p.fill(key, numbered(1, 2)); err != nil {
			return err
		}
		if i%4 < 2 == (i%3 == 0) { // of some both namespaces, of some one
			gone = append(gone, key, named("missing"), key)
		}
	}
	return errors.Join(p.delete(), p.delete(gone...), p.compare(p.keys...))
}

// vacuum gives up what deleted runs leave, and nothing else.
func vacuum(p *pair) error {
	give := func() error {
		return p.same("vacuum", func(v *view) (string, error) {
			if v.pruner == nil {
				return "", lacking("Pruner")
			}
			return "", v.pruner.Vacuum(p.ctx)
		})
	}
	large := strings.Repeat("0123456789abcdef", 1<<12)
	for i := range 8 {
		if err := p.fill(named(fmt.Sprint("run ", i)), journal(1, large, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	if err := errors.Join(give(), p.delete(p.keys[:4]...), give(), give(), p.compare(p.keys...)); err != nil {
		return err
	}
	return errors.Join(p.fill(p.keys[0], numbered(1, 1)), p.fill(p.keys[7], numbered(3, 1)))
}
