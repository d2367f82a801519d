package orchestrator

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// LargeResults says what becomes of results of tools that are too large to be shown to a model. It
// is on if Keep is not 0.
//
// A result of more than Show bytes is kept with its run, after the Middleware and after
// [Config].Redact. The model is shown its beginning and its end, and how to read on with the tool
// [ReadResultTool], which the Orchestrator adds to Config.Tools: its name must be free, and the
// lists of tools of strategies and agents apply to it. What is not kept, because the bounds are
// reached, or because the strategy does not offer that tool, is cut at Config.MaxToolResult, and
// the result says so. A Definition with a positive MaxResult has it in the place of Show; with a
// negative one its results are neither kept nor cut. Results of agents are cut, and never kept.
//
// Results are kept in the Store if it is a [checkpoint.ValueStore]: they are there as long as the
// run is, and a fork, an export, and the next run of a session take along those that they know.
// Otherwise they are kept in memory, and are gone once this process no longer works on the run. The
// tool then says so.
type LargeResults struct {
	Keep int64 // most bytes that are kept of a run; 0: results are not kept; negative: no maximum
	Show int   // bytes that a model is shown of a larger result; 0: 16 KiB, or Config.MaxToolResult if that is less
	Max  int   // most bytes that are kept of one result, the rest is cut; 0: 16 MiB; negative: no maximum
}

const (
	usualShow = 16 << 10
	usualMax  = 16 << 20
	leastShow = 256

	usualCutLine = 64 // bytes that the last line of a cut result has at most, about
)

// check returns what is wrong with the bounds.
func (l *LargeResults) check() error {
	if l.Show < 0 || l.Show > 0 && l.Show < leastShow {
		return fmt.Errorf("its Show is %d: it must be 0 or at least %d", l.Show, leastShow)
	}
	return nil
}

// withDefaults returns the bounds with their defaults.
func (l LargeResults) withDefaults(maxToolResult int) LargeResults {
	if l.Show == 0 {
		l.Show = usualShow
		if maxToolResult > 0 {
			l.Show = max(leastShow, min(l.Show, maxToolResult))
		}
	}
	if l.Max == 0 {
		l.Max = usualMax
	}
	return l
}

// configureLarge completes the bounds, finds the ability of the Store, and adds the tool that
// reads.
func (o *Orchestrator) configureLarge(cfg *Config) error {
	if cfg.LargeResults.Keep == 0 {
		return nil
	}
	if err := cfg.LargeResults.check(); err != nil {
		return &ConfigError{Field: "LargeResults", Err: err}
	}
	cfg.LargeResults = cfg.LargeResults.withDefaults(cfg.MaxToolResult)
	cfg.Tools = append(slices.Clip(cfg.Tools), newReadResult(cfg.LargeResults.Show))
	o.cfg.LargeResults, o.cfg.Tools = cfg.LargeResults, cfg.Tools
	o.values, _ = checkpoint.As[checkpoint.ValueStore](cfg.Store)
	return nil
}

// keepsLarge reports whether large results are kept.
func (o *Orchestrator) keepsLarge() bool { return o.cfg.LargeResults.Keep != 0 }

// large is what a run knows of the results that it keeps.
type large struct {
	mu        sync.Mutex
	untrusted map[string]bool   // by the ids of the results that were kept: whether they came from outside
	memory    checkpoint.Memory // for those that the Store does not keep
	there     map[string]bool   // the ids of what is kept; nil: nobody has looked what there was when this process took the run
	sum       int64             // bytes that are kept
}

// note notes what a record of the journal says of results that were kept.
func (l *large) note(rec machine.Record) {
	for out := range keptIn(rec) {
		l.noteOutput(out)
	}
}

// keptIn yields the outputs of a record whose results were kept.
func keptIn(rec machine.Record) iter.Seq[*messages.ToolOutput] {
	return func(yield func(*messages.ToolOutput) bool) {
		switch rec := rec.(type) {
		case machine.Started:
			for _, m := range rec.Input.Messages {
				if t, ok := m.(messages.Tool); ok && t.Kept.ID != "" && !yield(&t.ToolOutput) {
					return
				}
			}
		case machine.Answered:
			if a, ok := rec.Answer.(nextstep.ToolResult); ok && a.Output.Kept.ID != "" {
				yield(&a.Output)
			}
		}
	}
}

func (l *large) noteOutput(out *messages.ToolOutput) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.untrusted == nil {
		l.untrusted = map[string]bool{}
	}
	l.untrusted[out.Kept.ID] = l.untrusted[out.Kept.ID] || out.Untrusted
}

// keepLarge keeps the result of a call if it is large, and returns the answer that shows a part.
func (x *execution) keepLarge(ctx context.Context, a nextstep.Answer) nextstep.Answer {
	o := x.run.o
	result, ok := a.(nextstep.ToolResult)
	if !ok || !o.keepsLarge() || x.effect.Kind != machine.EffectTool || x.effect.Call.Name == ReadResultTool {
		return a
	}
	show := x.shows()
	if show < 0 || len(result.Output.Output) <= show || result.Output.Kept != (messages.Kept{}) {
		return a
	}
	if o.cfg.Redact != nil {
		rec, err := o.redact(ctx, x.run.id, x.effect.Answered(a, time.Now(), 0))
		if err != nil {
			return a // it is redacted once more, before it is applied, and fails again
		}
		if result, ok = rec.(machine.Answered).Answer.(nextstep.ToolResult); !ok || len(result.Output.Output) <= show {
			return rec.(machine.Answered).Answer
		}
	}
	out, text := &result.Output, strings.ToValidUTF8(result.Output.Output, "\uFFFD")
	if most := o.cfg.LargeResults.Max; most >= 0 && len(text) > most+usualCutLine { // the Runner has not cut it
		text = textcut.Fit(text, most)
	}
	kept := messages.Kept{ID: keptID(text), Size: int64(len(text))}
	problem := "no more can be read of it"
	if x.reads {
		problem = x.run.keep(ctx, kept, text)
	}
	if problem != "" {
		out.Output = cutAsUsual(text, x.mostUsually(), o.cfg.LargeResults.Max, problem)
		return result
	}
	out.Kept = kept
	x.run.large.noteOutput(out)
	out.Output = shown(text, show, kept)
	return result
}

// shows returns how many bytes of the result of the call are shown to the model; negative: all.
func (x *execution) shows() int {
	if def := x.effect.Definition; def != nil && def.MaxResult != 0 {
		return def.MaxResult
	}
	return x.run.o.cfg.LargeResults.Show
}

// mostKept returns at how many bytes the Runner cuts the result of a call; 0: as it is defined.
// What is larger is neither shown nor kept.
func (x *execution) mostKept(name string) int {
	l, usual := &x.run.o.cfg.LargeResults, x.mostUsually()
	switch {
	case !x.run.o.keepsLarge() || name == ReadResultTool:
		return 0
	case l.Max < 0 || usual < 0:
		return -1
	default:
		return max(l.Max, usual)
	}
}

// mostUsually returns at how many bytes the result is cut if it is not kept.
func (x *execution) mostUsually() int {
	if def := x.effect.Definition; def != nil && def.MaxResult != 0 {
		return def.MaxResult
	}
	return x.run.o.runner.MaxResult
}

// keptID returns the id of a text: 96 bits of its SHA-256, in letters, so that no digits look like
// a number that Config.Redact removes.
func keptID(text string) string {
	sum := sha256.Sum256([]byte(text))
	id := make([]byte, 0, 24)
	for _, b := range sum[:12] {
		id = append(id, 'a'+b>>4, 'a'+b&15)
	}
	return string(id)
}

// shown returns the part of a kept text that a model is shown: its beginning, its end, and how to
// read what is between them.
func shown(text string, show int, kept messages.Kept) string {
	head, tail := textcut.Before(text, show*3/4), textcut.After(text, len(text)-show/4)
	var b strings.Builder
	b.Grow(show + 400)
	b.WriteString(text[:head])
	fmt.Fprintf(&b, "\n[bytes %d to %d of %d are left out here]\n", head, tail, len(text))
	b.WriteString(text[tail:])
	fmt.Fprintf(&b, "\n[the result is kept as %s: read any part of it with the tool %s, such as {\"id\":%q,\"offset\":%d}, or look for a text with {\"id\":%q,\"find\":\"…\"}]",
		kept.ID, ReadResultTool, kept.ID, head, kept.ID)
	return b.String()
}

// cutAsUsual cuts a text that is not kept, and says why no more of it can be read. Above most bytes
// of one result the Runner has cut the text, and its last line says how long it was.
func cutAsUsual(text string, usual, most int, problem string) string {
	if usual < 0 || len(text) <= usual {
		return text
	}
	whole, left := len(text), 0
	if i := strings.LastIndex(text, "\n[cut: "); i >= 0 && most >= 0 && len(text) > most {
		if n, _ := fmt.Sscanf(text[i+1:], "[cut: %d of %d bytes are left out]", &left, &whole); n == 2 {
			text = text[:i]
		}
	}
	head := textcut.Before(text, usual)
	return fmt.Sprintf("%s\n[cut: %d of %d bytes are left out; %s]", text[:head], whole-head, whole, problem)
}

// keep keeps a text with the run. It returns why it is not kept; "" if it is.
func (r *run) keep(ctx context.Context, kept messages.Kept, text string) (problem string) {
	l, most := &r.large, r.o.cfg.LargeResults.Keep
	l.mu.Lock()
	defer l.mu.Unlock() // one after the other, so that all together keep within the bound
	if err := r.lookAtKept(ctx); err != nil {
		return r.notKept(err)
	}
	if l.there[kept.ID] {
		return ""
	}
	if most >= 0 && l.sum+kept.Size > most {
		return fmt.Sprintf("it is not kept, since the results of a run that are kept may have %d bytes together, and %d are left", most, max(0, most-l.sum))
	}
	if err := r.putValue(ctx, kept.ID, text); err != nil {
		return r.notKept(err)
	}
	l.there[kept.ID] = true
	l.sum += kept.Size
	return ""
}

// storesLarge reports whether results are kept in the Store.
func (r *run) storesLarge() bool { return r.o.values != nil && r.journal != nil }

// keeps returns where results are kept: in the Store, or else in memory.
func (r *run) keeps() (checkpoint.ValueStore, checkpoint.Key) {
	if r.storesLarge() {
		return r.o.values, r.journal.key
	}
	return &r.large.memory, checkpoint.Key{Run: r.id}
}

// lookAtKept finds out once what is kept already, as before a resume.
func (r *run) lookAtKept(ctx context.Context) error {
	l := &r.large
	if l.there != nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	store, key := r.keeps()
	if store == &l.memory { // it takes values only of a run that has begun
		if err := l.memory.Append(ctx, checkpoint.Batch{Key: key, Records: []checkpoint.Record{{Seq: 1}}}); err != nil {
			return err
		}
	}
	values, err := store.Values(ctx, key)
	if err != nil {
		return err
	}
	l.there = map[string]bool{}
	for _, v := range values {
		l.there[v.ID] = true
		l.sum += v.Size
	}
	return nil
}

func (r *run) notKept(err error) string {
	r.logStoreFault(r.ctx, "a large result could not be kept", &JournalError{Run: r.id, Err: err})
	return "it could not be kept"
}

// putValue stores a text, and tries again while the store fails, as an append does. The end of ctx
// does not cut it off at once.
func (r *run) putValue(ctx context.Context, id, text string) error {
	lasting, done := patient(ctx, patienceOfStore)
	defer done()
	began := time.Now()
	store, key := r.keeps()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := tryPut(lasting, store, key, id, []byte(text))
		if err == nil || isFinal(err) || time.Since(began)+pause > r.o.cfg.Timeouts.Store || !sleep(lasting, pause) {
			return err
		}
	}
}

func tryPut(ctx context.Context, values checkpoint.ValueStore, key checkpoint.Key, id string, data []byte) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &machine.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	if err := values.PutValue(ctx, key, id, data); err != nil {
		_, said := readError(err)
		return said
	}
	return nil
}
