package explore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// replaceAll replaces each live strategy by one that was restored from its snapshot.
func (w *walk) replaceAll() {
	for _, frame := range slices.Sorted(maps.Keys(w.stands)) {
		s := w.stands[frame]
		fresh := s.restoredCopy()
		if fresh == nil {
			continue
		}
		s.Strategy, w.live[frame] = fresh, fresh
	}
}

// snapshotOf returns a snapshot, and an error if the strategy panics.
func snapshotOf(s strategy.Snapshotter) (text []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return s.Snapshot()
}

// restoredCopy returns a new strategy that was restored from a snapshot; nil if there is none.
func (s *standIn) restoredCopy() (fresh strategy.Strategy) {
	defer func() {
		if v := recover(); v != nil {
			s.walk.complain(lawRestored, "Snapshot or Restore panicked: %v", v)
			fresh = nil
		}
	}()
	from, ok := s.Strategy.(strategy.Snapshotter)
	if !ok {
		return nil
	}
	snapshot, err := from.Snapshot()
	if err != nil {
		return nil // it says so
	}
	kept := bytes.Clone(snapshot)
	overwrite(snapshot)
	if again, err := from.Snapshot(); err != nil || !bytes.Equal(again, kept) {
		s.walk.complain(lawRestored, "its snapshot is not the same the second time (%v): %s, then %s", err, kept, again)
		return nil
	}
	fresh = s.factory()
	var own []tools.Tool
	if p, ok := fresh.(strategy.ToolProvider); ok {
		own = p.Tools()
	}
	if u, ok := fresh.(strategy.ToolUser); ok && s.uses {
		u.UseTools(s.given)
	}
	data := bytes.Clone(kept)
	if err := s.restore(fresh, data); err != nil {
		s.walk.complain(lawRestored, "it cannot be restored: %v", err)
		return nil
	}
	overwrite(data)
	if again, err := fresh.(strategy.Snapshotter).Snapshot(); err != nil || !bytes.Equal(again, kept) {
		s.walk.complain(lawRestored, "restored from its snapshot, it has another (%v): %s, then %s", err, kept, again)
	}
	s.walk.forgotten = append(s.walk.forgotten, differing(s.Strategy, fresh)...)
	s.own = own
	return fresh
}

// restore gives the memory and the position of the strategy to a new one.
func (s *standIn) restore(fresh strategy.Strategy, memory []byte) error {
	if err := fresh.(strategy.Snapshotter).Restore(memory); err != nil {
		return err
	}
	from, tabled := s.Strategy.(strategy.Tabler)
	if !tabled {
		return nil
	}
	if err := fresh.(strategy.Tabler).FSM().SetPosition(from.FSM().Position()); err != nil {
		return fmt.Errorf("its position: %w", err)
	}
	return nil
}

// overwrite overwrites a snapshot that nobody may need any more.
func overwrite(data []byte) {
	for i := range data {
		data[i] = '#'
	}
}

// whatIsLost names the fields of strategies that have come back otherwise from a snapshot; "" if
// there are none to be seen.
func (w *walk) whatIsLost() string {
	if len(w.forgotten) == 0 {
		return ""
	}
	slices.Sort(w.forgotten)
	empty := func(change string) bool {
		return slices.Contains([]string{"null", `""`, "0", "false", "[]", "{}", ""}, change[strings.LastIndex(change, became)+len(became):])
	}
	if slices.ContainsFunc(w.forgotten, empty) { // others may be caches
		w.forgotten = slices.DeleteFunc(w.forgotten, func(change string) bool { return !empty(change) })
	}
	return "in a restored strategy, " + strings.Join(slices.Compact(w.forgotten), ", ") + "; "
}

const became = " became "

// differing says which fields of a strategy a restored one has otherwise. Machines, functions and
// channels are left out.
func differing(was, is strategy.Strategy) []string {
	a, b := reflect.ValueOf(was), reflect.ValueOf(is)
	if a.Kind() != reflect.Pointer || a.Type() != b.Type() || a.Elem().Kind() != reflect.Struct {
		return nil
	}
	return fieldsOf(a.Elem(), b.Elem())
}

func fieldsOf(was, is reflect.Value) (all []string) {
	for i := range was.NumField() {
		field, a, b := was.Type().Field(i), was.Field(i), is.Field(i)
		switch {
		case field.Type.Kind() == reflect.Struct:
			all = append(all, fieldsOf(a, b)...)
		case field.Type.Kind() == reflect.Func, field.Type.Kind() == reflect.Chan, field.Type == reflect.TypeFor[*strategy.FSM]():
		case shownAs(a) != shownAs(b) && !strings.Contains(shownAs(a), "0xc"): // an address
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				name = field.Name
			}
			all = append(all, fmt.Sprintf("%s: %.80s%s%.80s", name, shownAs(a), became, shownAs(b)))
		}
	}
	return all
}

// shownAs returns a value as JSON if it can be read from outside of its package.
func shownAs(v reflect.Value) string {
	if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map}, v.Kind()) && v.IsNil() {
		return "null"
	}
	if v.CanInterface() {
		if text, err := json.Marshal(v.Interface()); err == nil {
			return string(text)
		}
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return fmt.Sprintf("%+v", v)
}
