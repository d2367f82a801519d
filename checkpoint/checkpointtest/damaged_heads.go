package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/checkpoint"
)

// damagedHeads damages the heads of two of six runs: every page of a list has the others, and an
// error that names the damaged ones of the page, and lists of other runs have none.
func damagedHeads(ctx context.Context, f Faulty) error {
	if f.DamageHead == nil {
		return lacking("DamageHead")
	}
	l, err := able[checkpoint.Lister](f.Store)
	if err != nil {
		return err
	}
	for _, name := range []string{"r1", "r2-damaged", "r3", "r4-damaged", "r5", "r6"} {
		b := batch(checkpoint.Key{Run: name}, numbered(1, 1)...)
		b.Header = &checkpoint.Header{Status: checkpoint.StatusWaiting}
		if name >= "r5" {
			b.Header.Status = checkpoint.StatusRunning
		}
		if err := put(ctx, f.Store, b); err != nil {
			return err
		}
	}
	broken := []string{"r2-damaged", "r4-damaged"} // errors hold names of databases, too, and these may hold any short name
	for _, name := range broken {
		if err := f.DamageHead(checkpoint.Key{Run: name}); err != nil {
			return fmt.Errorf("the damage cannot be done: %w", err)
		}
	}
	for limit := 1; limit <= 7; limit++ {
		if err := besideDamage(ctx, l, checkpoint.Query{Limit: limit}, "r1 r3 r5 r6", broken); err != nil {
			return fmt.Errorf("in pages of %d: %w", limit, err)
		}
		q := checkpoint.Query{Limit: limit, Status: []checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusDone}}
		if err := besideDamage(ctx, l, q, "r5 r6", nil); err != nil {
			return fmt.Errorf("runs of another status, in pages of %d: %w", limit, err)
		}
	}
	return nil
}

// besideDamage reads a list to its end.
func besideDamage(ctx context.Context, l checkpoint.Lister, q checkpoint.Query, want string, broken []string) error {
	var found []checkpoint.Head
	named := map[string]int{}
	for pages := 1; ; pages++ {
		page, err := l.List(ctx, q)
		switch {
		case err != nil && !errors.Is(err, checkpoint.ErrCorrupt):
			return fmt.Errorf("list: an error that does not wrap checkpoint.ErrCorrupt: %w", err)
		case len(page.Heads) > q.Limit || pages > 7:
			return fmt.Errorf("list: a page of %d heads, or too many pages", len(page.Heads))
		}
		found = append(found, page.Heads...)
		for _, name := range broken {
			if err != nil && strings.Contains(err.Error(), name) {
				named[name]++
			}
		}
		if err != nil && len(broken) == 0 {
			return fmt.Errorf("list of runs that are whole: %w", err)
		}
		if q.After = page.Next; q.After.IsZero() {
			break
		}
	}
	if got := keyed(found); got != want {
		return fmt.Errorf("list beside damaged heads: got the runs %q, want %q", got, want)
	}
	for _, name := range broken {
		if named[name] != 1 {
			return fmt.Errorf("the damaged head of run %s is named by %d pages, and not by one", name, named[name])
		}
	}
	return nil
}
