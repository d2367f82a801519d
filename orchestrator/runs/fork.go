package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/internal/journals"
)

// ForkConfig says how [Fork] makes a new run from the beginning of another. From is required. At
// most one of Input, Answer and Reply is given: it takes the place of what stands in record At.
type ForkConfig struct {
	From checkpoint.Key // in the store of the Orchestrator; of any status
	At   int            // the last record that is taken over; 0: the last one there is
	Run  string         // the id of the new run, in the same namespace; "" makes one

	Input  *delegation.Input // of the run: At is 1 or 0, and nothing but this is taken over
	Answer nextstep.Answer   // of an effect: record At is one of type "answered"
	Reply  *machine.Reply    // of somebody: record At is one of type "replied". Its WaitID is not read

	Labels  map[string]string // in the place of those of the other run; nil: those
	Session string            // the new [orchestrator.Task].Session that the fork begins, as a branch; "": it is of none
}

// Fork stores a new run that has its beginning in common with another one, and returns its head.
// The other run stays as it is; it may go on meanwhile. The new one goes on with
// [orchestrator.Orchestrator.Resume]: until then it is parked, unless it waits for somebody or has
// ended. Its calls have idempotency keys, and its waits have ids, of its own.
//
// A fork carries no approvals. If a person approved a call that has no result among the records
// taken over, the fork ends before that approval: Header.Origin.Record of the head says where.
// With an edit behind it, that is an error. A reply that the Fork itself brings counts.
//
// What was recorded is taken over as it is; an edited answer counts the usage that it says, and
// costs nothing. [orchestrator.Config].Redact is given what the Fork brings itself. The new run is
// applied to a Machine before it is stored. Errors are an [*Error] for one that cannot be, a
// [*orchestrator.JournalError], a [*orchestrator.FactoryError], a [*orchestrator.RedactionError], a
// [*orchestrator.RunExistsError] if there is a run of that id, and a [*orchestrator.ConfigError].
func Fork(ctx context.Context, o *orchestrator.Orchestrator, how ForkConfig) (checkpoint.Head, error) {
	var none checkpoint.Head
	id, err := forkID(&how)
	if err != nil {
		return none, err
	}
	access := o.Journals()
	rd, err := access.Read(how.From)
	if err != nil {
		return none, err
	}
	if err := checkBranch(ctx, o, &how); err != nil {
		return none, err
	}
	f := forking{how: &how, access: access, run: id}
	if err := f.load(ctx, rd); err != nil {
		return none, err
	}
	for {
		cut, err := f.fold(ctx)
		if err != nil {
			return none, err
		}
		if cut == 0 {
			return f.store(ctx)
		}
		if f.edited() {
			return none, f.refuse(cut, errors.New("somebody approved a call that has no result by then, and a fork carries no approvals: fork before it"))
		}
		f.records = f.records[:cut-1]
	}
}

// forkID returns the id of the new run.
func forkID(how *ForkConfig) (string, error) {
	edits := 0
	for _, is := range []bool{how.Input != nil, how.Answer != nil, how.Reply != nil} {
		if is {
			edits++
		}
	}
	if edits > 1 {
		return "", unforkable(how.From, 0, errors.New("of Input, Answer and Reply at most one is given"))
	}
	if how.Input != nil {
		how.At = cmp.Or(how.At, 1)
	}
	if how.Run == "" {
		made, err := uuid.NewV7()
		if err != nil {
			return "", &orchestrator.ConfigError{Field: "Fork.Run", Err: err}
		}
		return made.String(), nil
	}
	if err := (checkpoint.Key{Run: how.Run}).Check(); err != nil {
		return "", &orchestrator.ConfigError{Field: "Fork.Run", Err: err}
	}
	return how.Run, nil
}

// checkBranch returns an error if there is the session already that a fork is to begin: the fork
// would be its first turn once more.
func checkBranch(ctx context.Context, o *orchestrator.Orchestrator, how *ForkConfig) error {
	if how.Session == "" {
		return nil
	}
	for _, err := range o.SessionRuns(ctx, how.From.Namespace, how.Session) {
		if err == nil {
			err = unforkable(how.From, 0, fmt.Errorf("there is a session %.64q: a branch has a name of its own", how.Session))
		}
		return err
	}
	return nil
}

// forking is a fork in the making.
type forking struct {
	how     *ForkConfig
	access  journals.Access
	run     string
	records []machine.Record // of the other run, as far as they are taken over, edited
	stored  []checkpoint.Record
	own     []checkpoint.Record // of the new run, once it was folded
	rd      *journals.Reading   // of the new run
}

func (f *forking) edited() bool {
	return f.how.Input != nil || f.how.Answer != nil || f.how.Reply != nil
}

func (f *forking) refuse(record int, err error) error {
	return unforkable(f.how.From, record, err)
}

// load reads the records that are taken over, and edits the last.
func (f *forking) load(ctx context.Context, rd *journals.Reading) error {
	at := f.how.At
	if at < 0 {
		return f.refuse(at, errors.New("records are counted from 1"))
	}
	for stored, err := range rd.Records(ctx) {
		if err != nil {
			return err
		}
		rec, err := rd.Decode(stored)
		if err != nil {
			return err
		}
		f.records, f.stored = append(f.records, rec), append(f.stored, stored)
		if len(f.records) == at {
			break
		}
	}
	if n := len(f.records); at > n || n == 0 {
		return f.refuse(at, fmt.Errorf("it has %d records", n))
	}
	return f.edit()
}

// edit puts the edit in its place.
func (f *forking) edit() error {
	last := &f.records[len(f.records)-1]
	var fits bool
	switch r := (*last).(type) {
	case machine.Started:
		if fits = f.how.Answer == nil && f.how.Reply == nil; f.how.Input != nil {
			r.Input = *f.how.Input
		}
		*last = r
	case machine.Answered:
		if fits = f.how.Input == nil && f.how.Reply == nil; f.how.Answer != nil {
			r.Answer, r.NotBegun, r.Elapsed, r.Cost, r.Unpriced = named(f.how.Answer, r.Answer), false, 0, 0, 0
		}
		*last = r
	case machine.Replied:
		if fits = f.how.Input == nil && f.how.Answer == nil; f.how.Reply != nil {
			reply := *f.how.Reply
			reply.WaitID = r.Reply.WaitID
			r.Reply, r.Expired, r.Err = reply, false, nil
		}
		*last = r
	default:
		fits = !f.edited()
	}
	if !fits {
		return f.refuse(len(f.records), fmt.Errorf("the edit does not fit a record of type %q", machine.TypeOf(*last)))
	}
	return nil
}

// named is an answer to the call that another answers.
func named(a, was nextstep.Answer) nextstep.Answer {
	result, ok := a.(nextstep.ToolResult)
	old, known := was.(nextstep.ToolResult)
	if !ok || !known {
		return a
	}
	result.Output.CallID = cmp.Or(result.Output.CallID, old.Output.CallID)
	result.Output.ToolName = cmp.Or(result.Output.ToolName, old.Output.ToolName)
	result.Output.Status = cmp.Or(result.Output.Status, messages.StatusOK)
	return result
}

// fold makes the records those of the new run, and applies them. It returns the place of a reply by
// which somebody approved a call that has no result; 0 if there is none.
func (f *forking) fold(ctx context.Context) (int, error) {
	rd, err := f.access.Read(f.how.From)
	if err != nil {
		return 0, err
	}
	f.rd, f.own = rd, f.own[:0]
	approved := approvals{}
	for i, rec := range f.records {
		own, changed := f.adopt(rec)
		if !f.isEdited(i + 1) {
			approved.noteReply(f.rd.Machine, own, i+1)
		}
		if f.access.Redact != nil && (f.isEdited(i+1) || i == 0 && f.how.Labels != nil) {
			redacted, err := f.access.Redact(ctx, f.run, own)
			if err != nil {
				return 0, err
			}
			own = redacted
		}
		if _, err := f.rd.Apply(ctx, own); err != nil {
			return 0, err
		}
		if f.rd.Unfit != nil && f.isEdited(i+1) {
			return 0, f.refuse(i+1, f.rd.Unfit.Err)
		}
		if f.rd.Unfit == nil {
			approved.noteMigrated(own, i+1)
		}
		stored := f.stored[i]
		if changed || f.isEdited(i+1) {
			if _, ok := own.(machine.Started); ok && f.rd.Unfit == nil {
				own = f.rd.Machine.Started() // as the Machine has it
			}
			data, err := machine.AppendRecord(nil, own)
			if err != nil {
				return 0, f.refuse(i+1, err)
			}
			stored = checkpoint.Record{Seq: i + 1, Type: machine.TypeOf(own), Data: data}
		}
		f.own = append(f.own, stored)
	}
	if err := f.rd.Err(); err != nil {
		return 0, f.refuse(f.rd.Unfit.Place, err)
	}
	return approved.firstOpen(f.rd.Machine), nil
}

// isEdited reports whether the record of that place is not that of the other run.
func (f *forking) isEdited(place int) bool { return f.edited() && place == len(f.records) }

// store keeps the new run.
func (f *forking) store(ctx context.Context) (checkpoint.Head, error) {
	values, err := f.access.Values(ctx, f.how.From, f.records)
	if err != nil {
		return checkpoint.Head{}, err
	}
	return f.access.Store(ctx, &journals.Run{
		Key: checkpoint.Key{Namespace: f.how.From.Namespace, Run: f.run}, Machine: f.rd.Machine, Records: f.own, Values: values,
		Reason: fmt.Sprintf("it is a fork of run %.64q: resume it", f.how.From.Run),
	})
}

func unforkable(from checkpoint.Key, record int, err error) error {
	return &Error{Key: from, Record: record, Err: err, fork: true}
}
