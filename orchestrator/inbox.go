package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// The types of messages to a run, see [checkpoint.Inbox].
const (
	postedReply = "reply"
	postedNote  = "note"
	postedStop  = "stop"
)

// posting is the JSON form of a message to a run.
type posting struct {
	Version int            `json:"v"`
	Type    string         `json:"type"`
	Reply   *machine.Reply `json:"reply,omitempty"`
	Text    string         `json:"text,omitempty"`   // the text of a note; the reason of a stop
	Now     bool           `json:"now,omitempty"`    // of a stop
	Remark  bool           `json:"remark,omitempty"` // of a note: no strategy hears it
}

const postingVersion = 1

// errPostedStop is the cause when a message stops a run.
type errPostedStop struct{ reason string }

func (e *errPostedStop) Error() string {
	if e.reason == "" {
		return "stop was asked for"
	}
	return "stop was asked for: " + e.reason
}

// inbox holds messages to a run in progress that have not been applied.
type inbox struct {
	ready atomic.Bool // the run takes messages: its journal was read
	some  atomic.Bool // queue is not empty
	stops atomic.Bool // a stop has come
	mu    sync.Mutex
	known map[string]bool // ids of all messages so far
	queue []checkpoint.Message

	// Only the loop uses these:
	stop    *errPostedStop // the first stop; nil: none was applied
	stopIDs []string       // messages that are taken together with the record of the stop
	later   bool           // a later version wrote one of the messages
}

// add adds a message, and reports whether it is a new one.
func (b *inbox) add(m checkpoint.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[m.ID] {
		return false
	}
	if b.known == nil {
		b.known = map[string]bool{}
	}
	b.known[m.ID] = true
	b.queue = append(b.queue, m)
	b.some.Store(true)
	return true
}

// know keeps a message from being added: it was dealt with.
func (b *inbox) know(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]bool{}
	}
	b.known[id] = true
}

// take returns the messages since the last take.
func (b *inbox) take() []checkpoint.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queue
	b.queue = nil
	b.some.Store(false)
	return queue
}

// accept hands a message to the loop, unless it has come before. It may be called from any
// goroutine.
func (r *run) accept(m *checkpoint.Message) {
	if !r.journal.inbox.add(*m) {
		return
	}
	if p, ok := stopIn(m); ok {
		if r.journal.inbox.stops.Store(true); p.Now {
			r.cancel(&errPostedStop{p.Text}) // also an effect on the goroutine of the loop
		}
	}
	r.box.signal()
}

// stopIn returns the stop that a message is, and whether it is one.
func stopIn(m *checkpoint.Message) (p posting, ok bool) {
	err := json.Unmarshal(m.Data, &p)
	return p, err == nil && p.Version <= postingVersion && p.Type == postedStop
}

// stopsFirst reports whether the run, whose journal was read, stops before anything else is done.
// It accepts the stops that were posted.
func (r *run) stopsFirst() (bool, error) {
	posted, err := r.posted()
	for _, m := range posted {
		if _, ok := stopIn(&m); ok {
			r.accept(&m)
		}
	}
	return r.stopped(), err
}

// posted returns the messages to the run. While the store fails, posted tries again, for as long as
// an append would. An error means that nobody knows all of the messages.
func (r *run) posted() ([]checkpoint.Message, error) {
	lasting := r.journal.lastingContext(r.ctx)
	began := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		posted, err := r.o.keeper.posted(lasting, r.o, []checkpoint.Key{r.journal.key})
		if err == nil {
			return posted, nil
		}
		if isFinal(err) || time.Since(began)+pause > r.journal.patience || !sleep(lasting, pause) {
			return posted, storeError(r.journal.key, err)
		}
	}
}

// collect hands the loop the messages that were posted before it began, and from now on those that
// come.
func (r *run) collect(posted []checkpoint.Message) {
	for _, m := range posted {
		r.accept(&m)
	}
	r.journal.inbox.ready.Store(true)
	r.o.keeper.collect(r.o, []*run{r})
}

// applyPosted applies the messages to the run.
func (r *run) applyPosted() {
	if r.journal == nil || !r.journal.inbox.some.Load() || r.ending == stopsNow || r.consumer.gone {
		return
	}
	if r.m.Done() { // what came too late stays in the inbox, where it can be seen
		return
	}
	for _, m := range r.journal.inbox.take() {
		r.now = time.Now()
		err := r.applyMessage(&m)
		if errors.Is(err, errStays) || r.unkept() != nil {
			continue
		}
		if err != nil {
			r.o.log(r.ctx, slog.LevelWarn, "message refused", slog.String("run", r.id), slog.String("message", m.ID), slog.String("problem", err.Error()))
		}
		r.journal.taken = append(r.journal.taken, m.ID) // also if it was refused: otherwise it would be refused again by whoever resumes the run
	}
}

// errStays reports that a message stays in the inbox for now.
var errStays = errors.New("orchestrator: the message stays in the inbox")

// applyMessage applies a message. A stop is only noted here: it stays in the inbox until the record
// of the stop is stored, so that it is not lost if the process dies or leaves the run in between.
func (r *run) applyMessage(m *checkpoint.Message) error {
	var p posting
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	b := &r.journal.inbox
	switch {
	case p.Version > postingVersion:
		b.later = true
		return errStays
	case p.Type == postedReply && p.Reply != nil:
		return r.applyReply(*p.Reply, m.At)
	case p.Type == postedNote:
		return r.note(p.Text, p.Remark)
	case p.Type == postedStop && !p.Now && r.ending != goesOn:
		return nil // it is stopping
	case p.Type == postedStop: // for a stop at once, post has canceled the context of the run
		if b.stopIDs = append(b.stopIDs, m.ID); b.stop == nil {
			b.stop = &errPostedStop{p.Text}
		}
		return errStays
	default:
		return fmt.Errorf("its type is %.64q", p.Type)
	}
}

// replyInTime ends a wait that has expired by a reply that was posted before it did, while nobody
// worked on the run. It reports whether there is such a reply.
func (r *run) replyInTime(w *machine.Wait, posted []checkpoint.Message) (bool, error) {
	if w.Kind == machine.WaitTimer {
		return false, nil
	}
	for _, m := range posted {
		var p posting
		if json.Unmarshal(m.Data, &p) != nil || p.Version > postingVersion || p.Type != postedReply || p.Reply == nil || p.Reply.WaitID != w.ID {
			continue
		}
		err := r.apply(machine.Replied{At: r.timeOf(w, m.At), Reply: *p.Reply})
		if _, refused := errors.AsType[*machine.ReplyError](err); refused { // it came too late, or is none
			continue
		}
		if err == nil {
			r.journal.taken = append(r.journal.taken, m.ID)
			r.journal.inbox.know(m.ID)
		}
		return err == nil, err
	}
	return false, nil
}

// timeOf returns the time of a reply that was posted at a time: now, or if the wait has expired
// since, that time, unless the run has come further by then.
func (r *run) timeOf(w *machine.Wait, posted time.Time) time.Time {
	switch {
	case !w.Expired(r.now) || w.Expired(posted):
		return r.now
	case posted.Before(r.m.Now()):
		return r.m.Now()
	default:
		return posted
	}
}

// applyReply applies a reply that was posted at a time. If this process asks a person the same, it
// stops asking.
func (r *run) applyReply(reply machine.Reply, posted time.Time) error {
	at := r.now
	for _, w := range r.m.Waits() {
		if w.ID == reply.WaitID {
			at = r.timeOf(&w, posted)
		}
	}
	if err := r.apply(machine.Replied{At: at, Reply: reply}); err != nil {
		return err
	}
	for _, x := range r.executions {
		if w := x.effect.Wait; w != nil && w.ID == reply.WaitID {
			r.remove(x)
			break
		}
	}
	return nil
}

// Answer replies to a wait of a run, from any process. The process that works on the run takes the
// reply within [Config].InboxEvery. If no process does, the reply stays in the inbox until the run
// is resumed: at once by an [Orchestrator.Recover] of the same Orchestrator, by others when they
// look next. The first reply to a wait counts.
//
// The error is a [*machine.ReplyError] if the run has ended or does not have that wait, if the wait
// has expired or is a timer, or if a question has neither Text nor Reason for an answer; a
// [*JournalError] if there is no such run or the store fails, a [*ConfigError] if the store has no
// [checkpoint.Inbox], and a [*RedactionError] if the reply cannot be redacted.
func (o *Orchestrator) Answer(ctx context.Context, key checkpoint.Key, reply machine.Reply) error {
	head, err := o.head(ctx, key)
	if err != nil {
		return err
	}
	if err := refusalOf(key.Run, &head.Header, &reply); err != nil {
		return err
	}
	return o.post(ctx, key, posting{Type: postedReply, Reply: &reply})
}

// refusalOf returns the error with which a run would refuse a reply that was posted now; nil if it
// would not.
func refusalOf(run string, h *checkpoint.Header, reply *machine.Reply) error {
	problem := "the run has ended"
	if !h.Status.Ended() {
		waits := make([]machine.Wait, len(h.Waits))
		for i, w := range h.Waits {
			waits[i] = machine.Wait{ID: w.ID, Kind: w.Kind, Expires: w.Expires}
		}
		i := slices.IndexFunc(waits, func(w machine.Wait) bool { return w.ID == reply.WaitID })
		if i < 0 {
			return machine.NoSuchWait(run, reply.WaitID, waits)
		}
		if problem = waits[i].Problem(reply, time.Now()); waits[i].Kind == machine.WaitTimer {
			problem = "nobody is asked: it is a timer, which ends by itself"
		}
	}
	if problem == "" {
		return nil
	}
	return &machine.ReplyError{Run: run, WaitID: reply.WaitID, Problem: problem}
}

// Stop stops a run, from any process: after the step in progress, or at once if now is true, like
// the Stop and the context of a [Task]. If no process works on the run, it stops when it is
// resumed. The reason is stored in the journal; it may be empty. If the run has ended, Stop does
// nothing. The errors are those of [Orchestrator.Answer]; a reason of more than [machine.MaxNote]
// bytes is a [*machine.ReplyError].
func (o *Orchestrator) Stop(ctx context.Context, key checkpoint.Key, reason string, now bool) error {
	if problem := tooLong("reason", reason); problem != "" {
		return &machine.ReplyError{Run: key.Run, Problem: problem}
	}
	head, err := o.head(ctx, key)
	if err != nil || head.Header.Status.Ended() {
		return err
	}
	return o.post(ctx, key, posting{Type: postedStop, Text: reason, Now: now})
}

// head returns the head of a run to which a message is posted.
func (o *Orchestrator) head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	if o.keeper.inbox == nil {
		return checkpoint.Head{}, &ConfigError{Field: "Store", Err: errors.New("has no checkpoint.Inbox: nothing can be posted to a run")}
	}
	var head checkpoint.Head
	err := o.guard(ctx, key.Run, "Head", func() (err error) {
		head, err = o.cfg.Store.Head(ctx, key)
		return err
	})
	if err != nil {
		return head, &JournalError{Run: key.Run, Err: err}
	}
	return head, nil
}

func (o *Orchestrator) post(ctx context.Context, key checkpoint.Key, p posting) error {
	p, err := o.redactPosting(ctx, key.Run, p)
	if err != nil {
		return err
	}
	p.Version = postingVersion
	data, err := json.Marshal(p)
	if err != nil {
		return &JournalError{Run: key.Run, Err: err}
	}
	id, err := uuid.NewV7()
	if err != nil {
		return &JournalError{Run: key.Run, Err: err}
	}
	m := checkpoint.Message{ID: id.String(), Key: key, Data: data}
	if err := o.guard(ctx, key.Run, "Post", func() error { return o.keeper.inbox.Post(ctx, m) }); err != nil {
		return &JournalError{Run: key.Run, Err: err}
	}
	if r := o.keeper.get(key); r != nil {
		o.keeper.collect(o, []*run{r}) // reads the inbox, since messages may precede this one
		return nil
	}
	select {
	case o.posted <- struct{}{}:
	default: // Recover, if there is one, will look
	}
	return nil
}
