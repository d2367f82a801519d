package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// rulebook is what New hears of the rules of Approve while it puts the Handlers together.
type rulebook struct {
	heard   bool     // from an Approve
	names   []string // of tools
	written bool     // New has returned: nobody is heard any more
}

// announce tells New the names of the tools that an Approve has rules for. New cannot look into a
// Middleware, which is a function. But what New lets it wrap is a Handler that listens, and Approve
// knows one by its code. No other Handler is called, so that New learns nothing of an Approve that
// wraps the Handler of another middleware itself.
func announce(next Handler, rules map[string]ApprovalPolicy) {
	if codeOf(next) != codeOf((*listener)(nil).handle) {
		return
	}
	names := slices.AppendSeq([]string{}, maps.Keys(rules))
	_, _ = next(context.Background(), Call{Step: nextstep.ExecuteTools{}, rules: names})
}

// codeOf tells Handlers apart that were not made by the same function.
func codeOf(h Handler) uintptr { return reflect.ValueOf(h).Pointer() }

// listener is what a middleware wraps in New: the next Handler, and the rulebook that hears what is
// announced to it.
type listener struct {
	book *rulebook
	next Handler
}

// handle is a [Handler].
func (l *listener) handle(ctx context.Context, call Call) (nextstep.Answer, error) {
	if call.rules == nil {
		return l.next(ctx, call)
	}
	if b := l.book; !b.written {
		b.heard, b.names = true, append(b.names, call.rules...)
	}
	return nextstep.ToolResults{}, nil
}

// wrap makes the Handler of the middlewares around next. Tools that need approval get it behind all
// of them, where none of them asks people. Each middleware is called once: it may do more than
// wrap.
func (b *rulebook) wrap(next Handler, around []Middleware, needed bool) Handler {
	innermost := next
	made := Handler(func(ctx context.Context, call Call) (nextstep.Answer, error) { return innermost(ctx, call) })
	for _, wrap := range slices.Backward(around) {
		if wrap != nil {
			made = boundary(wrap((&listener{b, made}).handle))
		}
	}
	b.written = true
	if needed && !b.heard {
		innermost = Approve(ApprovalConfig{Default: AllowAlways})(next)
	}
	return made
}

// check says which rules are for tools that there are not, each with the names that are near.
func (b *rulebook) check(known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	slices.Sort(b.names)
	var unknown []string
	for _, name := range slices.Compact(b.names) {
		if slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("%q", name)
		if near := nearest(name, known); near != "" {
			text += fmt.Sprintf(" (did you mean %q?)", near)
		}
		unknown = append(unknown, text)
	}
	if unknown == nil {
		return nil
	}
	there := "there are no tools"
	if len(known) > 0 {
		there = "the tools are: " + strings.Join(known, ", ")
	}
	return &ConfigError{Field: "Middleware", Err: fmt.Errorf("the rules of Approve name tools that there are not: %s; %s", strings.Join(unknown, ", "), there)}
}

// nearest returns the name that a misspelt one is most likely to stand for; "" if none is near.
func nearest(name string, known []string) string {
	best, least := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits counts the letters to put in, leave out or replace that make one name of another
// (Levenshtein's distance).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// needApproval reports whether one of the tools says that it needs approval.
func needApproval(defs []tools.Definition) bool {
	return slices.ContainsFunc(defs, func(d tools.Definition) bool { return d.NeedsApproval })
}
