package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator/internal/journals"
)

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
