package orchestrator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// The labels that a run of a [Task].Session has.
const (
	LabelSession = "segue.session" // the name of the session
	LabelTurn    = "segue.turn"    // which of its runs it is, from 1
)

// Session is a conversation over many runs.
type Session struct {
	Namespace string
	Name      string
	Turns     int             // how many runs it has had; those of the session that it branched off do not count
	First     checkpoint.Head // of its first run that is kept; zero in a Conversation
	Last      checkpoint.Head // of its last run
}

// Conversation is a session as far as the journal of its last run could be read.
type Conversation struct {
	Session
	Strategy string           // which has answered in the last run, or was to: the next turn begins with it
	History  messages.History // see [Orchestrator.History]
	Waits    []machine.Wait   // what the last run asks and nobody has answered yet; timers are none
	Position Position         // behind what the History holds of the last run: [Orchestrator.Follow] yields what comes next
}

// turnOf returns which run of its session a run is.
func turnOf(h *checkpoint.Header) int {
	n, err := strconv.Atoi(h.Labels[LabelTurn])
	if err != nil {
		return 0
	}
	return n
}

// Sessions yields the sessions of a namespace, the one whose last run is the newest first. It looks
// at the head of every run of the namespace. The error comes last, after the sessions of the heads
// that could be read: that of the store, which wraps checkpoint.ErrCorrupt for damaged heads; or a
// [*ConfigError] if the store is no [checkpoint.Lister].
func (o *Orchestrator) Sessions(ctx context.Context, namespace string) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		var list []Session
		place := map[string]int{}
		var problem error
		for head, err := range o.heads(ctx, checkpoint.Query{Namespace: namespace, Limit: 1000}) {
			if problem = err; err != nil {
				break
			}
			name, turn := head.Header.Labels[LabelSession], turnOf(&head.Header)
			if name == "" {
				continue
			}
			i, known := place[name]
			if !known {
				i, place[name] = len(list), len(list)
				list = append(list, Session{Namespace: namespace, Name: name, Turns: turn, First: head, Last: head})
			}
			s := &list[i]
			if turn > s.Turns {
				s.Turns, s.Last = turn, head
			}
			if turn < turnOf(&s.First.Header) {
				s.First = head
			}
		}
		slices.SortFunc(list, func(a, b Session) int {
			return cmp.Or(b.Last.Created.Compare(a.Last.Created), strings.Compare(a.Last.Key.Run, b.Last.Key.Run))
		})
		for i := range list {
			if !yield(list[i], nil) {
				return
			}
		}
		if problem != nil {
			yield(Session{}, problem)
		}
	}
}

// mostTitle is the maximum length of a title in bytes.
const mostTitle = 80

// Title returns what a session of [Orchestrator.Sessions] is about: the first text of its user that
// is kept, on one line, the beginning of a long one. It reads one record. The errors are those of
// [Orchestrator.Replay].
func (o *Orchestrator) Title(ctx context.Context, s *Session) (string, error) {
	rd, err := o.newReading(s.First.Key, nil)
	if err != nil {
		return "", err
	}
	var begun machine.Started
	for stored, err := range rd.Records(ctx) {
		if err != nil {
			return "", err
		}
		rec, err := rd.Decode(stored)
		if err != nil {
			return "", err
		}
		begun, _ = rec.(machine.Started)
		break
	}
	text := begun.Input.Goal
	for _, m := range begun.Input.Messages {
		if said, ok := m.(messages.User); ok && said.Text() != "" {
			text = said.Text()
			break
		}
	}
	return textcut.Short(strings.Join(strings.Fields(text), " "), mostTitle), nil
}

// SessionRuns yields the heads of the runs of a session, the one that was created last first. The
// errors are those of [Orchestrator.Sessions].
func (o *Orchestrator) SessionRuns(ctx context.Context, namespace, session string) iter.Seq2[checkpoint.Head, error] {
	return o.heads(ctx, checkpoint.Query{Namespace: namespace, Labels: map[string]string{LabelSession: session}, Limit: 1000})
}

// History returns the conversation of a session: what its next run begins with. It obeys the laws
// of [messages.History.Validate], whatever became of the last run: of one that failed, was stopped
// or broke off, or that waits, it is what was said by then, with every call closed. Of a session
// without runs it is nil. If the head of one of its runs is damaged there is none, because nobody
// knows whether that run is the last one. The errors are those of [Orchestrator.Sessions], a
// [*JournalError], and a [*FactoryError] if the last run was begun with a [Task].Factory that
// [Config].Factory does not know.
func (o *Orchestrator) History(ctx context.Context, namespace, session string) (messages.History, error) {
	c, err := o.Conversation(ctx, namespace, session)
	return c.History, err
}

// Conversation returns the history of a session, with what a client needs to go on with its last
// run: to follow it if it is in progress, or to answer it if it waits. A session without runs has
// no Turns. The errors are those of [Orchestrator.History].
func (o *Orchestrator) Conversation(ctx context.Context, namespace, session string) (Conversation, error) {
	c := Conversation{Session: Session{Namespace: namespace, Name: session}}
	last, turn, err := o.lastTurn(ctx, namespace, session)
	if err != nil || last == nil {
		return c, err
	}
	t, err := o.turnIn(ctx, last.Key, nil)
	if err != nil {
		return c, err
	}
	c.Turns, c.Last, c.Strategy, c.History = turn, *last, t.answered, t.history
	c.Position = Position{Record: t.machine.Records(), Index: math.MaxInt32}
	c.Waits, err = o.openWaits(ctx, last.Key, t.machine)
	return c, err
}

// lastTurn returns the head of the last run of a session, and which it is; nil if there is none. It
// is the run with the highest turn: an import, or a clock that is set back, can make another one
// the newest in the store.
func (o *Orchestrator) lastTurn(ctx context.Context, namespace, session string) (last *checkpoint.Head, turn int, err error) {
	for head, err := range o.SessionRuns(ctx, namespace, session) {
		if err != nil {
			return nil, 0, err
		}
		if n := turnOf(&head.Header); last == nil || n > turn {
			last, turn = &head, n
		}
	}
	return last, turn, nil
}

// turn is what a run has come to.
type turn struct {
	history  messages.History
	answered string // the strategy that has answered; "": none
	machine  *machine.Machine
}

// turnIn returns a run as far as its journal can be read with the strategies of this process, and
// with a factory where Config.Factory has none.
func (o *Orchestrator) turnIn(ctx context.Context, key checkpoint.Key, factory func() strategy.Strategy) (t turn, err error) {
	rd, err := o.newReading(key, factory)
	if err != nil {
		return t, err
	}
	var started machine.Started
	for stored, err := range rd.Records(ctx) {
		if err != nil {
			return t, err
		}
		rec, err := rd.Decode(stored)
		if err != nil {
			return t, err
		}
		if s, ok := rec.(machine.Started); ok {
			started = s
		}
		if _, err = rd.Apply(ctx, rec); err != nil { // whoever has the factory can read what was said
			return t, err
		}
	}
	if t.machine = rd.Machine; t.machine.Run() == "" { // its strategy is not there any more
		t.history = lawful(append(started.Input.Messages.Clip(), goalOf(&started)...))
		return t, nil
	}
	h := soFar(t.machine)
	if s := t.machine.Started(); len(h) == 0 { // it has asked for nothing yet
		h = append(s.Input.Messages.Clip(), goalOf(&s)...)
	}
	t.history, t.answered = lawful(h), t.machine.Finished("", delegation.Output{}).Strategy
	return t, nil
}

// soFar is the conversation of a run by now. The Machine says of every call without a result that
// it waits for somebody. Of those that do not, nobody knows: the run broke off.
func soFar(m *machine.Machine) messages.History {
	h := m.Output().Messages
	if m.Done() {
		return h
	}
	waits := map[string]bool{}
	for _, w := range m.Waits() {
		waits[w.CallID] = waits[w.CallID] || w.Frame == "0"
	}
	last := len(h) // the results of the last step
	for last > 0 && isResult(h[last-1]) {
		last--
	}
	kept := h[:last].Clip()
	for _, message := range h[last:] {
		if t := message.(messages.Tool); t.Reason != tools.ReasonSuspended || waits[t.CallID] {
			kept = append(kept, t)
		}
	}
	return kept
}

func isResult(m messages.Message) bool {
	_, ok := m.(messages.Tool)
	return ok
}

// goalOf is what was asked for, as a message; none if that stands in the messages of the input.
func goalOf(s *machine.Started) messages.History {
	if s.Input.Goal == "" {
		return nil
	}
	return messages.History{messages.UserText(s.Input.Goal)}
}

func lawful(h messages.History) messages.History {
	h, _ = h.Repair()
	return h
}

// continueSession makes a task of a session the next run of it: with the conversation so far, an id
// that says which run it is, and labels.
func (o *Orchestrator) continueSession(ctx context.Context, task *Task) error {
	if o.cfg.Store == nil {
		return &ConfigError{Field: "Task.Session", Err: errors.New("needs Config.Store")}
	}
	if key := (checkpoint.Key{Namespace: task.Namespace, Run: task.Session}); key.Check() != nil {
		return &ConfigError{Field: "Task.Session", Err: key.Check()}
	}
	last, turn, err := o.lastTurn(ctx, task.Namespace, task.Session)
	if err != nil {
		return err
	}
	if last != nil {
		if err := o.endTurn(ctx, last, task.TakeOver); err != nil {
			return err
		}
		task.continues = last.Key.Run
	}
	begins := task.Strategy != "" || task.Factory != nil
	if last != nil && (!begins || len(task.Input.Messages) == 0) {
		t, err := o.turnIn(ctx, last.Key, task.Factory)
		if err != nil {
			return err
		}
		if len(task.Input.Messages) == 0 {
			task.Input.Messages = t.history
		}
		if _, known := o.cfg.Strategies[t.answered]; known && !begins {
			task.Strategy = t.answered
		}
	}
	if task.Run == "" {
		task.Run, task.nonce = fmt.Sprintf("%s.%d", task.Session, turn+1), rand.Text()
	}
	labels := map[string]string{}
	maps.Copy(labels, task.Labels)
	labels[LabelSession], labels[LabelTurn] = task.Session, strconv.Itoa(turn+1)
	task.Labels = labels
	return nil
}

// errNoLease is the error of a run whose process may work on it or be dead.
var errNoLease = fmt.Errorf("%w: it has no lease", checkpoint.ErrConflict)

// endTurn returns an error if somebody works on the last run of a session, here or elsewhere. Where
// no leases say so, a run that has not ended counts, unless it waits. To take it over fences off
// who works on it elsewhere, and parks it.
func (o *Orchestrator) endTurn(ctx context.Context, last *checkpoint.Head, takeOver bool) error {
	h, cause := last.Header, checkpoint.ErrConflict
	here, leased := o.keeper.get(last.Key) != nil, last.Lease.Until.After(time.Now()) && (!isDriven(last) || h.Status != checkpoint.StatusWaiting)
	unknown := o.leaser == nil && (h.Status == checkpoint.StatusRunning || h.Status == "")
	switch {
	case h.Status.Ended() || !here && !leased && !unknown:
		return nil
	case !here && takeOver:
		err := o.guard(ctx, last.Key.Run, "Append", func() error { return o.parkFenced(ctx, last) })
		if err != nil {
			return &JournalError{Run: last.Key.Run, Err: err}
		}
		return nil
	case !here && !leased:
		cause = errNoLease
	}
	return &RunExistsError{Run: last.Key.Run, InProgress: true, Err: cause}
}

// parkFenced fences off who works on a run, and parks the run unless it has ended, or waits, by
// then.
func (o *Orchestrator) parkFenced(ctx context.Context, last *checkpoint.Head) error {
	b := checkpoint.Batch{Key: last.Key, Writer: rand.Text(), Epoch: last.Epoch + 1}
	if err := o.cfg.Store.Append(ctx, b); err != nil {
		return err
	}
	now, err := o.cfg.Store.Head(ctx, last.Key)
	if err != nil || now.Header.Status.Ended() || now.Header.Status == checkpoint.StatusWaiting {
		return err
	}
	b.Header = &now.Header
	b.Header.Status, b.Header.Reason, b.Header.Version = checkpoint.StatusParked, "the next turn of its session took it over", ""
	return o.cfg.Store.Append(ctx, b)
}
