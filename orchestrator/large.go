package orchestrator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator/internal/journals"
	"github.com/segue-go/segue/tools"
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
	l, most := r.large, r.o.cfg.LargeResults.Keep
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
	l := r.large
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

// ReadResultTool is the name of the tool that reads results which are kept; see [LargeResults].
const ReadResultTool = tools.ReadResultName

var (
	// ErrNotKept is wrapped by the error of [ReadResultTool] for an id of no result that the run
	// keeps. Those of other runs are such ids.
	ErrNotKept = errors.New("the run has kept no result of this id: take the id from the result, as it stands there")

	// ErrGone is wrapped by the error of [ReadResultTool] for a result that was kept in memory by a
	// process which no longer works on the run, or that the run before in the session has kept.
	ErrGone = errors.New("the result was kept, and is not there any more: if it is needed, make the call again whose result it was")

	// ErrBeyond is wrapped by the error of [ReadResultTool] for an offset beyond the end.
	ErrBeyond = errors.New("the offset is beyond the end of the result")
)

// ReadResultError says why a result that is kept cannot be read. It wraps [ErrNotKept], [ErrGone]
// or [ErrBeyond], or the error of the store.
type ReadResultError struct {
	Run  string
	ID   string
	Size int64 // of the result, if it is there
	Err  error
}

// Error names the result, and how long it is. It does not quote an error of the store.
func (e *ReadResultError) Error() string {
	text := fmt.Sprintf("orchestrator: result %.64q: ", e.ID)
	switch {
	case errors.Is(e.Err, ErrBeyond):
		return text + fmt.Sprintf("%v, which has %d bytes", e.Err, e.Size)
	case errors.Is(e.Err, ErrNotKept), errors.Is(e.Err, ErrGone):
		return text + e.Err.Error()
	default:
		return text + "it cannot be read now"
	}
}

// Unwrap returns the cause.
func (e *ReadResultError) Unwrap() error { return e.Err }

const (
	mostFound  = 20        // places of a text that are told at once
	mostFind   = 1000      // bytes of a text that is looked for
	findWindow = 256 << 10 // bytes that are looked at in one piece
	before     = 80        // bytes of the line that are shown before a place
	behind     = 120       // and behind it
)

// readResultArguments are the arguments of the tool.
type readResultArguments struct {
	ID     string `json:"id" jsonschema:"the id of the result, as the result says it"`
	Offset int64  `json:"offset,omitempty" jsonschema:"the byte at which to begin; 0 is the first"`
	Length int    `json:"length,omitempty" jsonschema:"how many bytes to read"`
	Find   string `json:"find,omitempty" jsonschema:"a text: instead of reading, list the places from offset on where it stands, with the lines around them"`
}

// newReadResult returns the tool. It reads show bytes unless it is told otherwise, and at most four
// times as many.
func newReadResult(show int) tools.Tool {
	def := tools.Definition{
		Name: ReadResultTool, ReadOnly: true, MaxResult: 4*show + mostFound*(before+behind+mostFind+64),
		Description: fmt.Sprintf("Reads a part of a result that was too large to be shown, or finds a text in it. It reads %d bytes unless length says otherwise, and %d at most.", show, 4*show),
	}
	return tools.New(def, func(ctx context.Context, in readResultArguments) (string, error) {
		x := executionOf(ctx)
		if x == nil {
			return "", errors.New("orchestrator: the tool " + ReadResultTool + " works only in a run of the orchestrator")
		}
		if in.Length <= 0 {
			in.Length = show
		}
		in.Length = min(in.Length, 4*show)
		v, err := x.run.openKept(ctx, in.ID)
		if err != nil {
			return "", err
		}
		if v.untrusted {
			x.readUntrusted.Store(true)
		}
		if in.Offset = max(in.Offset, 0); in.Offset >= v.size {
			return "", v.fails(ErrBeyond)
		}
		if in.Find != "" {
			return v.find(ctx, in.Find, in.Offset)
		}
		return v.read(ctx, in.Offset, in.Length)
	})
}

// keptText is a result that is kept, and is being read.
type keptText struct {
	run       *run
	id        string
	size      int64
	untrusted bool
}

func (v *keptText) fails(err error) error {
	return &ReadResultError{Run: v.run.id, ID: v.id, Size: v.size, Err: err}
}

// openKept finds a result that the run keeps.
func (r *run) openKept(ctx context.Context, id string) (*keptText, error) {
	v := &keptText{run: r, id: id}
	r.large.mu.Lock()
	untrusted, known := r.large.untrusted[id]
	r.large.mu.Unlock()
	v.untrusted = untrusted || !known // nobody knows where it came from if no record says so
	if checkpoint.CheckValue(id) == nil {
		store, key := r.keeps()
		_, size, err := store.ReadValue(ctx, key, id, 0, 0)
		if v.size = size; err == nil {
			return v, nil
		}
		if !errors.Is(err, checkpoint.ErrNotFound) {
			_, said := readError(err)
			return nil, v.fails(said)
		}
	}
	if known {
		return nil, v.fails(ErrGone)
	}
	return nil, v.fails(ErrNotKept)
}

// part returns the bytes of the result from one place to before another.
func (v *keptText) part(ctx context.Context, from, to int64) ([]byte, error) {
	from, to = max(from, 0), min(to, v.size)
	store, key := v.run.keeps()
	data, _, err := store.ReadValue(ctx, key, v.id, from, int(to-from))
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, v.fails(ErrGone)
	}
	if err != nil {
		_, said := readError(err)
		return nil, v.fails(said)
	}
	return data, nil
}

// read returns a part of the result, and where it stands. It cuts no rune.
func (v *keptText) read(ctx context.Context, offset int64, length int) (string, error) {
	const more = utf8.UTFMax - 1
	data, err := v.part(ctx, offset, offset+int64(length)+more)
	if err != nil {
		return "", err
	}
	first := textcut.After(string(data[:min(len(data), more)]), 0)
	end := textcut.After(string(data), min(len(data), max(length, first+1)))
	text := string(data[first:end])
	from, to := offset+int64(first), offset+int64(end)
	last := "[this is its end]"
	if to < v.size {
		last = fmt.Sprintf("[it goes on at offset %d]", to)
	}
	return fmt.Sprintf("[bytes %d to %d of %d]\n%s\n%s", from, to, v.size, text, last), nil
}

// find lists the places of a text from an offset on.
func (v *keptText) find(ctx context.Context, find string, offset int64) (string, error) {
	if len(find) > mostFind {
		return "", &tools.ArgumentError{Tool: ReadResultTool, Problems: []tools.Problem{{Message: fmt.Sprintf("find has %d bytes, and may have %d", len(find), mostFind)}}}
	}
	var places strings.Builder
	found := 0
	for at := offset; at < v.size; at += findWindow {
		data, err := v.part(ctx, at-before, at+findWindow+int64(len(find)+behind))
		if err != nil {
			return "", err
		}
		begin := max(0, at-before) // of data
		for i := int(at - begin); ; {
			next := bytes.Index(data[min(i, len(data)):], []byte(find))
			if next < 0 || begin+int64(i+next) >= at+findWindow {
				break
			}
			if i += next; found == mostFound {
				return fmt.Sprintf("[the first %d places from byte %d on, of %d bytes; look on from offset %d]\n%s", found, offset, v.size, begin+int64(i), places.String()), nil
			}
			fmt.Fprintf(&places, "byte %d: %s\n", begin+int64(i), lineAt(data, i, len(find)))
			found++
			i += len(find)
		}
	}
	if found == 0 {
		return fmt.Sprintf("[it does not stand from byte %d on, of %d bytes]", offset, v.size), nil
	}
	return fmt.Sprintf("[%d places from byte %d on, of %d bytes]\n%s", found, offset, v.size, places.String()), nil
}

// lineAt returns a text that was found, with what stands around it in its line.
func lineAt(data []byte, at, length int) string {
	from, to := max(0, at-before), min(len(data), at+length+behind)
	if i := bytes.LastIndexByte(data[from:at], '\n'); i >= 0 {
		from += i + 1
	}
	if i := bytes.IndexByte(data[at+length:to], '\n'); i >= 0 {
		to = at + length + i
	}
	return strings.ToValidUTF8(string(data[from:to]), "")
}

// valueStore returns the ability of the store to keep values, whether LargeResults is on or not;
// nil: it has none.
func (o *Orchestrator) valueStore() checkpoint.ValueStore {
	values, _ := checkpoint.As[checkpoint.ValueStore](o.cfg.Store)
	return values
}

// keptValues returns what a run keeps of the results that records name, or all of it if records is
// nil.
func (o *Orchestrator) keptValues(ctx context.Context, from checkpoint.Key, records []machine.Record) ([]journals.Value, error) {
	named := map[string]bool{}
	for _, rec := range records {
		for out := range keptIn(rec) {
			named[out.Kept.ID] = true
		}
	}
	store := o.valueStore()
	if store == nil || records != nil && len(named) == 0 && !slices.ContainsFunc(records, hasSummary) {
		return nil, nil
	}
	list, err := o.listValues(ctx, from)
	if err != nil {
		return nil, err
	}
	var values []journals.Value
	for _, v := range list {
		if records == nil || named[v.ID] || isSummarized(v.ID, records) {
			values = append(values, journals.Value{ID: v.ID, Text: func(ctx context.Context) (string, error) { return o.wholeValue(ctx, from, v) }})
		}
	}
	return values, nil
}

// isSummarized reports whether a summary in the input of a run names a result.
func isSummarized(id string, records []machine.Record) bool {
	return slices.ContainsFunc(records, func(rec machine.Record) bool {
		return slices.ContainsFunc(summariesIn(rec), func(text string) bool { return strings.Contains(text, id) })
	})
}

func hasSummary(rec machine.Record) bool { return len(summariesIn(rec)) > 0 }

// summariesIn returns the summaries in the input of a run. The calls whose results they tell of are
// not there any more.
func summariesIn(rec machine.Record) (texts []string) {
	started, _ := rec.(machine.Started)
	for _, m := range started.Input.Messages {
		if u, ok := m.(messages.User); ok && u.Summary {
			texts = append(texts, u.Text())
		}
	}
	return texts
}

func (o *Orchestrator) listValues(ctx context.Context, key checkpoint.Key) ([]checkpoint.Value, error) {
	list, err := o.valueStore().Values(ctx, key)
	if err != nil {
		return nil, storeError(key, err)
	}
	return list, nil
}

// wholeValue reads a result that is kept, which must be what its id says.
func (o *Orchestrator) wholeValue(ctx context.Context, key checkpoint.Key, v checkpoint.Value) (string, error) {
	data, _, err := o.valueStore().ReadValue(ctx, key, v.ID, 0, int(v.Size))
	if err != nil {
		return "", storeError(key, err)
	}
	text := string(data)
	if keptID(text) != v.ID || !utf8.ValidString(text) {
		return "", &JournalError{Run: key.Run, Err: journals.Corrupt(fmt.Errorf("the large result %.64q is not what its id says", v.ID))}
	}
	return text, nil
}

// adoptValues stores the first record of a run that is new to the store, and then its values. Until
// the other records are stored the run is parked.
func (j *journal) adoptValues(ctx context.Context, h *checkpoint.Header, values []journals.Value) error {
	all := j.pending
	begun := *h
	begun.Status, begun.Reason, begun.Version, begun.Waits = checkpoint.StatusParked, "it is being made of another run, or of a file", "", nil
	j.pending = slices.Clone(all[:1])
	b := j.batch()
	b.Header = &begun
	if err := j.append(ctx, &b); err != nil {
		return err
	}
	j.pending = all[1:]
	store, _ := checkpoint.As[checkpoint.ValueStore](j.store)
	for _, v := range values {
		text, err := v.Text(ctx)
		if err == nil {
			err = store.PutValue(ctx, j.key, v.ID, []byte(text))
		}
		if err != nil {
			j.discard(ctx)
			return storeError(j.key, err)
		}
	}
	return nil
}

// discard deletes a run that could not be made, if the store can. Otherwise it stays parked.
func (j *journal) discard(ctx context.Context) {
	if pruner, ok := checkpoint.As[checkpoint.Pruner](j.store); ok {
		_ = pruner.Delete(context.WithoutCancel(ctx), j.key)
	}
}

// carryOn takes along what the run before in the session keeps of the results that stand in the
// conversation. What cannot be taken along is gone, as the tool that reads says.
func (r *run) carryOn(task *Task) {
	if !r.o.keepsLarge() {
		return
	}
	started := machine.Started{Input: task.Input}
	r.large.note(started)
	if task.continues == "" || !r.storesLarge() {
		return
	}
	values, err := r.o.keptValues(r.ctx, checkpoint.Key{Namespace: task.Namespace, Run: task.continues}, []machine.Record{started})
	for _, v := range values {
		text, failed := v.Text(r.ctx)
		if failed == nil {
			failed = r.putValue(r.ctx, v.ID, text)
		}
		err = errors.Join(err, failed)
	}
	if err != nil {
		r.logStoreFault(r.ctx, "large results could not be taken along", &JournalError{Run: r.id, Err: err})
	}
}

// takesValues says why the store cannot take results that a file brings.
func (o *Orchestrator) takesValues(ctx context.Context, values []journals.Value) error {
	if len(values) > 0 && o.valueStore() == nil {
		return errors.New("it keeps large results, and the store is no checkpoint.ValueStore")
	}
	sum, most := int64(0), o.cfg.LargeResults.Keep
	for _, v := range values {
		text, err := v.Text(ctx)
		if err != nil {
			return err
		}
		if keptID(text) != v.ID {
			return fmt.Errorf("the large result %.64q is not what its id says", v.ID)
		}
		if sum += int64(len(text)); most > 0 && sum > most {
			return fmt.Errorf("its large results have more than %d bytes, as much as a run may keep here (LargeResults.Keep)", most)
		}
	}
	return nil
}
