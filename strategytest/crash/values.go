package crash

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// PutValue implements checkpoint.ValueStore.
func (s processStore) PutValue(ctx context.Context, key checkpoint.Key, id string, data []byte) error {
	values, ok := checkpoint.As[checkpoint.ValueStore](s.w.journal.store)
	what := fmt.Sprintf("the keeping of the result %s", id)
	switch {
	case !ok:
		return errNoAbility
	case !s.boundary(kindKeep, "before "+what):
		return errKilled
	}
	err := values.PutValue(ctx, key, id, data)
	if err == nil && !s.boundary(kindKeep, "after "+what) {
		return errKilled
	}
	return err
}

// ReadValue implements checkpoint.ValueStore.
func (s processStore) ReadValue(ctx context.Context, key checkpoint.Key, id string, offset int64, length int) ([]byte, int64, error) {
	values, ok := checkpoint.As[checkpoint.ValueStore](s.w.journal.store)
	switch {
	case s.isDead():
		return nil, 0, errKilled
	case !ok:
		return nil, 0, errNoAbility
	}
	return values.ReadValue(ctx, key, id, offset, length)
}

// Values implements checkpoint.ValueStore.
func (s processStore) Values(ctx context.Context, key checkpoint.Key) ([]checkpoint.Value, error) {
	values, ok := checkpoint.As[checkpoint.ValueStore](s.w.journal.store)
	switch {
	case s.isDead():
		return nil, errKilled
	case !ok:
		return nil, nil
	}
	return values.Values(ctx, key)
}

// checkNamed complains of records that name a result which is not there, or not whole.
func (w *world) checkNamed(ctx context.Context, key checkpoint.Key, records []checkpoint.Record) {
	for i := range records {
		rec, err := machine.ReadRecord(records[i].Data)
		if err != nil {
			continue // the journal has said so
		}
		answered, _ := rec.(machine.Answered)
		result, ok := answered.Answer.(nextstep.ToolResult)
		if !ok || result.Output.Kept.ID == "" {
			continue
		}
		named := result.Output.Kept
		values, able := checkpoint.As[checkpoint.ValueStore](w.journal.store)
		if !able {
			w.complain(lawKept, "a result is kept in a store that keeps none")
			return
		}
		if data, _, err := values.ReadValue(ctx, key, named.ID, 0, int(named.Size)+1); err != nil || int64(len(data)) != named.Size {
			w.complain(lawKept, fmt.Sprintf(
				"record %d names the result %s of %d bytes, and the store has %d of them: %v", records[i].Seq, named.ID, named.Size, len(data), err))
		}
	}
}

// kept returns the large results in the store, by id.
func (w *world) kept(ctx context.Context) map[string]string {
	texts := map[string]string{}
	values, ok := checkpoint.As[checkpoint.ValueStore](w.journal.store)
	if !ok {
		return texts
	}
	key := checkpoint.Key{Namespace: w.c.Task.Namespace, Run: w.c.Task.Run}
	list, err := values.Values(ctx, key)
	for i := 0; i < len(list) && err == nil; i++ {
		var data []byte
		data, _, err = values.ReadValue(ctx, key, list[i].ID, 0, int(list[i].Size))
		texts[list[i].ID] = string(data)
	}
	if err != nil {
		w.complain(lawKept, "the large results cannot be read: "+err.Error())
	}
	return texts
}

// checkKept complains unless the store has the large results of the run that was not cut off, and
// no others.
func (w *world) checkKept(ctx context.Context, key checkpoint.Key, want map[string]string) {
	values, ok := checkpoint.As[checkpoint.ValueStore](w.journal.store)
	if !ok || w.isOther() {
		return
	}
	list, err := values.Values(ctx, key)
	if err != nil {
		w.complain(lawKept, "the large results cannot be listed: "+err.Error())
	}
	var ids []string
	for _, v := range list {
		ids = append(ids, v.ID)
		data, _, err := values.ReadValue(ctx, key, v.ID, 0, int(v.Size))
		if text, known := want[v.ID]; known && (err != nil || string(data) != text) {
			w.complain(lawKept, fmt.Sprintf("the result %s is not kept as it was returned: %v", v.ID, err))
		}
	}
	if expected := slices.Sorted(maps.Keys(want)); !slices.Equal(ids, expected) {
		w.complain(lawKept, "other results are kept\n"+twoLines(fmt.Sprint(expected), fmt.Sprint(ids)))
	}
}

// readerOf returns the definition of the tool that an Orchestrator adds where large results are
// kept; nil if they are not. A run that does nothing else is asked for it.
func readerOf(cfg *orchestrator.Config) (*tools.Definition, error) {
	if cfg.LargeResults.Keep == 0 {
		return nil, nil
	}
	var seen []tools.Definition
	o, err := orchestrator.New(orchestrator.Config{
		Client: cfg.Client, LargeResults: cfg.LargeResults, MaxToolResult: cfg.MaxToolResult,
		Strategies: strategy.Set{"look": func() strategy.Strategy { return looker{seen: &seen} }},
	})
	if err != nil {
		return nil, err
	}
	if _, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "look"}}); err != nil {
		return nil, err
	}
	return &seen[0], nil
}

// looker is a strategy that looks at its tools, and ends.
type looker struct {
	strategy.Defaults
	seen *[]tools.Definition
}

// UseTools implements strategy.ToolUser.
func (l looker) UseTools(defs []tools.Definition) { *l.seen = defs }

// Initialize implements strategy.Strategy.
func (looker) Initialize(delegation.Input) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Result: new("seen")}}
}

var _ checkpoint.ValueStore = processStore{}
