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
// nothing changes; "same", if nothing changes; what was asked for; or how the run then stands: its
// last record, its epoch, who holds its lease, its recoveries, its status and its reason. A line
// that begins with a question mark is left out if the store lacks the ability.
//
//go:embed contract.txt
var contract string

// moment is a lease that ends soon.
const moment = 20 * time.Millisecond

// scripts are the checks of the contract.
func scripts() (all []namedCheck) {
	for part := range strings.SplitSeq(strings.TrimSpace(contract), "\n\n") {
		name, lines, _ := strings.Cut(part, "\n")
		all = append(all, namedCheck{strings.TrimPrefix(name, "# "), beside(func(p *pair) error {
			key := named("r")
			for line := range strings.Lines(lines) {
				if id, is := strings.CutPrefix(strings.TrimSpace(line), "run "); is {
					namespace, id, in := strings.Cut(id, "/")
					if !in {
						namespace, id = "", namespace
					}
					key = checkpoint.Key{Namespace: namespace, Run: id}
				} else if err := p.line(key, strings.TrimSpace(line)); err != nil {
					return fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
				}
			}
			return nil
		})})
	}
	return all
}

// line asks what a line asks for, and compares what comes of it with what the line says.
func (p *pair) line(key checkpoint.Key, line string) error {
	line, optional := strings.CutPrefix(line, "? ")
	asked, told, _ := strings.Cut(line, " -> ")
	words := strings.Fields(asked)
	if !slices.Contains(p.keys, key) {
		p.keys = append(p.keys, key)
	}
	before := p.store.all(p.ctx, p.keys)
	p.said = ""
	err := p.ask(key, words[0], words[1:])
	if _, lacks := errors.AsType[lacking](err); lacks && optional {
		return nil
	}
	if err != nil {
		return err
	}
	refusal, _, _ := strings.Cut(p.said, " ")
	refused := slices.ContainsFunc(kinds, func(k errorKind) bool { return k.name == refusal })
	switch {
	case refused && !slices.Contains(strings.Split(p.said, " and "), told):
		return fmt.Errorf("it is refused: %s", p.said)
	case refused, told == "same":
		if after := p.store.all(p.ctx, p.keys); before != after {
			return fmt.Errorf("it changed something: %s", difference(after, before))
		}
	case slices.Contains([]string{"posted", "list", "snapshot", "value", "values"}, words[0]):
		if p.said != strings.TrimPrefix(told, "none") {
			return fmt.Errorf("got %q", p.said)
		}
	case told != "":
		h, err := p.store.store.Head(p.ctx, key)
		holder := h.Lease.Writer
		if holder == "" {
			holder = "-"
		}
		stands := fmt.Sprintf("%d %d %s %d %s %s", h.Last, h.Epoch, holder, h.Recoveries, h.Header.Status, h.Header.Reason)
		if !strings.HasPrefix(stands+" ", told+" ") || err != nil {
			return fmt.Errorf("the run stands at %q (error %w)", stands, err)
		}
	}
	return nil
}

// ask asks for something.
func (p *pair) ask(key checkpoint.Key, verb string, words []string) error {
	switch verb {
	case "append":
		return p.append(p.batch(key, words))
	case "head":
		return p.do(key, verb, func(v *view) (string, error) {
			h, err := v.store.Head(p.ctx, key)
			return form(h), err
		})
	case "read":
		return p.read(key, number(words[0]))
	case "wait":
		time.Sleep(2 * moment)
		return nil
	case "lease":
		return p.lease(key, words[0], duration(words[1]))
	case "take": // once it can be had
		return p.do(key, "lease", func(v *view) (said string, err error) {
			for {
				said, err = v.lease(p.ctx, key, words[0], duration(words[1]))
				if !errors.Is(err, checkpoint.ErrLeased) || p.ctx.Err() != nil {
					return said, err
				}
				time.Sleep(moment / 4)
			}
		})
	case "post":
		return p.post(note(key, words[0]))
	case "save":
		return p.save(key, snapshotOf(key, number(words[0])))
	case "put":
		return p.put(key, words[0], []byte(words[1]))
	case "delete":
		return p.delete(named(words[0]))
	default:
		return p.same(verb, func(v *view) (string, error) { return v.look(p.ctx, key, verb, words) })
	}
}

// look reads something, and says it in the words of a script.
func (v *view) look(ctx context.Context, key checkpoint.Key, verb string, words []string) (string, error) {
	var ids []string
	switch {
	case verb == "posted" && v.inbox != nil:
		messages, err := v.inbox.Posted(ctx, key)
		for _, m := range messages {
			ids = append(ids, m.ID)
		}
		return strings.Join(ids, " "), err
	case verb == "snapshot" && v.kept != nil:
		s, err := v.kept.Snapshot(ctx, key)
		return strconv.Itoa(s.Records), err
	case verb == "value" && v.values != nil:
		data, _, err := v.values.ReadValue(ctx, key, words[0], 0, 1000)
		return string(data), err
	case verb == "values" && v.values != nil:
		list, err := v.values.Values(ctx, key)
		for _, value := range list {
			ids = append(ids, value.ID)
		}
		return strings.Join(ids, " "), err
	case verb == "list" && v.lister != nil:
		q := checkpoint.Query{Unleased: words[0] == "unleased", Posted: words[0] == "posted"}
		if !q.Unleased && !q.Posted {
			q.Status = []checkpoint.Status{checkpoint.Status(words[0])}
		}
		page, err := v.lister.List(ctx, q)
		return keyed(page.Heads), err
	}
	return "", lacking(map[string]string{"posted": "Inbox", "snapshot": "SnapshotStore", "value": "ValueStore", "values": "ValueStore", "list": "Lister"}[verb])
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
func (p *pair) batch(key checkpoint.Key, words []string) checkpoint.Batch {
	writer, epoch, _ := strings.Cut(words[0], "@")
	b := by(batch(key), writer, int64(number(epoch)))
	for part := range strings.SplitSeq(words[1], ",") {
		if part == "-" {
			continue
		}
		first, end, several := strings.Cut(part, "..")
		if !several {
			end = first
		}
		b.Records = append(b.Records, numbered(number(first), number(end)-number(first)+1)...)
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
