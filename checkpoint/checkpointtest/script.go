package checkpointtest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// contract tells promises as scripts, with a name each. A line asks something of the current run,
// which is r at first, and says behind the arrow what comes of it: the name of an error, by which
// nothing changes; "same", if nothing changes; or how the run then stands: its last record, its
// epoch, who holds its lease, its recoveries, its status and its reason. A line that begins with a
// question mark is left out if the store lacks the ability.
//
//go:embed contract.txt
var contract string

// scripts are the checks of the contract.
func scripts() (all []namedCheck) {
	for part := range strings.SplitSeq(strings.TrimSpace(contract), "\n\n") {
		name, lines, _ := strings.Cut(part, "\n")
		all = append(all, namedCheck{strings.TrimPrefix(name, "# "), func(ctx context.Context, s checkpoint.Store) error {
			p := &play{s: s, key: named("r"), keys: []checkpoint.Key{named("r")}}
			for line := range strings.Lines(lines) {
				if err := p.line(ctx, strings.TrimSpace(line)); err != nil {
					return fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
				}
			}
			return nil
		}})
	}
	return all
}

// play is a script that is run.
type play struct {
	s    checkpoint.Store
	key  checkpoint.Key   // the current run
	keys []checkpoint.Key // all runs
}

func (p *play) line(ctx context.Context, line string) error {
	line, optional := strings.CutPrefix(line, "? ")
	asked, told, _ := strings.Cut(line, " -> ")
	words, want := strings.Fields(asked), strings.Fields(told)
	var before string
	var err error
	if kept := len(want) > 0 && (refusals[want[0]] != nil || want[0] == "same"); kept {
		if before, err = everything(ctx, p.s, p.keys); err != nil {
			return err
		}
	}
	err = p.do(ctx, words[0], words[1:], want)
	if _, lacks := errors.AsType[lacking](err); lacks && optional {
		return nil
	}
	if len(want) == 0 || reads[words[0]] && want[0] != "missing" {
		return err
	}
	kinds, refused := refusals[want[0]]
	for _, target := range kinds {
		if err := wraps(err, target, "the outcome"); err != nil {
			return err
		}
	}
	if refused || err == nil && want[0] == "same" {
		after, err := everything(ctx, p.s, p.keys)
		if err == nil && before != after {
			err = fmt.Errorf("it was\n%s\nand is\n%s", before, after)
		}
		return err
	}
	if err == nil {
		err = p.stands(ctx, want)
	}
	return err
}

// refusals are the errors by their names.
var refusals = map[string][]error{
	"conflict": {checkpoint.ErrConflict}, "fenced": {checkpoint.ErrFenced, checkpoint.ErrConflict},
	"leased": {checkpoint.ErrLeased}, "missing": {checkpoint.ErrNotFound},
}

// reads are what compares with the words behind the arrow itself.
var reads = map[string]bool{"posted": true, "list": true, "snapshot": true, "value": true, "values": true}

// stands compares how the run stands with what a script says.
func (p *play) stands(ctx context.Context, want []string) error {
	h, err := p.s.Head(ctx, p.key)
	if err != nil {
		return err
	}
	holder := h.Lease.Writer
	if holder == "" {
		holder = "-"
	}
	got := []string{strconv.Itoa(h.Last), strconv.FormatInt(h.Epoch, 10), holder, strconv.Itoa(h.Recoveries), string(h.Header.Status), h.Header.Reason}
	if !slices.Equal(got[:len(want)], want) {
		return fmt.Errorf("the run stands at %q, want %q", got, want)
	}
	return expect(ctx, p.s, p.key, 1, numbered(1, h.Last))
}

// do does what a line asks. What it reads it compares.
func (p *play) do(ctx context.Context, verb string, words, want []string) error {
	switch verb {
	case "run":
		namespace, id, in := strings.Cut(words[0], "/")
		if !in {
			namespace, id = "", namespace
		}
		p.key = checkpoint.Key{Namespace: namespace, Run: id}
		p.keys = append(p.keys, p.key)
		return nil
	case "append":
		return p.s.Append(ctx, p.batch(words))
	case "head":
		_, err := p.s.Head(ctx, p.key)
		return err
	case "read":
		_, err := read(ctx, p.s, p.key, number(words[0]))
		return err
	case "wait":
		time.Sleep(2 * moment)
		return nil
	case "lease", "take":
		return p.lease(ctx, verb, words)
	case "post", "posted":
		return p.inbox(ctx, verb, words, want)
	case "save", "snapshot":
		return p.snapshot(ctx, verb, words, want)
	case "put", "value", "values":
		return p.value(ctx, verb, words, want)
	case "list":
		return p.list(ctx, words[0], want)
	default:
		pruner, err := able[checkpoint.Pruner](p.s)
		if err != nil {
			return err
		}
		return pruner.Delete(ctx, named(words[0]))
	}
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		panic(err) // the script is ours
	}
	return n
}

func duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		return -1 // "end"
	}
	return d
}

// batch reads what is appended, such as "a@1 2..4 lease=1h": the writer a appends in epoch 1.
func (p *play) batch(words []string) checkpoint.Batch {
	writer, epoch, _ := strings.Cut(words[0], "@")
	b := by(batch(p.key), writer, int64(number(epoch)))
	for part := range strings.SplitSeq(words[1], ",") {
		first, end, several := strings.Cut(part, "..")
		switch {
		case part == "-":
		case several:
			b.Records = append(b.Records, numbered(number(first), number(end)-number(first)+1)...)
		default:
			b.Records = append(b.Records, numbered(number(part), 1)...)
		}
	}
	for _, word := range words[2:] {
		switch field, value, _ := strings.Cut(word, "="); field {
		case "bare":
			b.Header = nil
		case "progress":
			b.Progress = true
		case "lease":
			b.Lease = duration(value)
		case "take":
			b.Taken = strings.Split(value, ",")
		case "status":
			b.Header.Status = checkpoint.Status(value)
		case "reason":
			b.Header.Reason = value
		}
	}
	return b
}

// lease takes a lease, or takes it once it can be had. What is returned is what Head says.
func (p *play) lease(ctx context.Context, verb string, words []string) error {
	l, err := able[checkpoint.Leaser](p.s)
	if err != nil {
		return err
	}
	ask := l.Lease
	if verb == "take" {
		ask = func(ctx context.Context, key checkpoint.Key, writer string, d time.Duration) (checkpoint.Head, error) {
			return takeOver(ctx, l, key, writer, d)
		}
	}
	got, err := ask(ctx, p.key, words[0], duration(words[1]))
	if err != nil {
		return err
	}
	h, err := p.s.Head(ctx, p.key)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return errors.New("a run was leased that there is not")
	}
	if err == nil && whole(h) != whole(got) {
		err = fmt.Errorf("what Lease returned is\n     %s\nand what Head returned\n     %s", whole(got), whole(h))
	}
	return err
}

func (p *play) inbox(ctx context.Context, verb string, words, want []string) error {
	in, err := able[checkpoint.Inbox](p.s)
	switch {
	case err != nil:
		return err
	case verb == "post":
		return in.Post(ctx, note(p.key, words[0]))
	case want[0] == "none":
		want = nil
	}
	return (&posted{in, p.s}).expect(ctx, p.key, want...)
}

// keepsHead does what must not change the head of the run.
func (p *play) keepsHead(ctx context.Context, do func() error) error {
	if _, err := p.s.Head(ctx, p.key); err != nil {
		return do() // there is no such run
	}
	return unchanged(ctx, p.s, p.key, do)
}

func (p *play) snapshot(ctx context.Context, verb string, words, want []string) error {
	k, err := able[checkpoint.SnapshotStore](p.s)
	switch {
	case err != nil:
		return err
	case verb == "save":
		return p.keepsHead(ctx, func() error { return k.SaveSnapshot(ctx, p.key, snapshotOf(p.key, number(words[0]))) })
	case want[0] == "none":
		return expectNoSnapshot(ctx, k, p.key)
	}
	return expectSnapshot(ctx, k, p.key, snapshotOf(p.key, number(want[0])))
}

func (p *play) value(ctx context.Context, verb string, words, want []string) error {
	v, err := able[checkpoint.ValueStore](p.s)
	if err != nil {
		return err
	}
	switch verb {
	case "put":
		return p.keepsHead(ctx, func() error { return v.PutValue(ctx, p.key, words[0], []byte(words[1])) })
	case "value":
		if want[0] == "missing" {
			_, _, err := v.ReadValue(ctx, p.key, words[0], 0, 1)
			return err
		}
		return expectValue(ctx, v, p.key, words[0], []byte(want[0]), 0, 1000)
	}
	list, err := v.Values(ctx, p.key)
	got := []string{}
	for _, value := range list {
		got = append(got, value.ID)
	}
	if err == nil && strings.Join(got, " ") != strings.TrimPrefix(strings.Join(want, " "), "none") {
		err = fmt.Errorf("the run has the values %q, want %q", got, want)
	}
	return err
}

func (p *play) list(ctx context.Context, which string, want []string) error {
	l, err := able[checkpoint.Lister](p.s)
	if err != nil {
		return err
	}
	q := checkpoint.Query{Unleased: which == "unleased", Posted: which == "posted"}
	if !q.Unleased && !q.Posted {
		q.Status = []checkpoint.Status{checkpoint.Status(which)}
	}
	return listed(ctx, l, q, strings.TrimPrefix(strings.Join(want, " "), "none"))
}
