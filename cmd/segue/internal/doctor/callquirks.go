package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// wireCall is a tool call as it came.
type wireCall struct {
	index    *int
	id, name string
	args     string
}

// callReader puts the pieces of calls together, and notes what is unusual about them.
type callReader struct {
	calls  []*wireCall
	quirks []quirk
	seen   map[string]bool
}

func (r *callReader) add(there bool, name, format string, args ...any) {
	if there && !r.seen[name] {
		r.seen[name] = true
		r.quirks = append(r.quirks, quirk{name, fmt.Sprintf(format, args...)})
	}
}

// callQuirks is about the tool calls.
func (s *shape) callQuirks() []quirk {
	r := s.readCalls()
	finish, said := s.finish()
	if len(r.calls) > 0 {
		r.add(said && (finish == "stop" || finish == ""), "finish_stop", "finish reason %q beside calls", finish)
	}
	return r.quirks
}

// readCalls returns the calls of the reply.
func (s *shape) readCalls() *callReader {
	r := &callReader{seen: map[string]bool{}}
	legacy, empty, blank := false, false, true
	s.first(func(_ choice, m *reply) {
		if m == nil {
			return
		}
		if m.Calls != nil {
			for _, p := range *m.Calls {
				r.piece(p, s.stream)
			}
		}
		if m.Function != nil {
			legacy, empty = legacy || m.Function.named(), empty || !m.Function.named()
		}
		blank = blank && !filled(m.Content)
	})
	r.add(legacy && len(r.calls) == 0, "function_call", "calls come as function_call")
	r.add(empty && !legacy, "empty_function_call", "an empty function_call beside the reply")
	if len(r.calls) > 0 && blank {
		s.first(func(_ choice, m *reply) {
			r.add(m != nil && string(m.Content) == `""`, "empty_content", `content is "" beside calls`)
		})
	}
	r.compare()
	return r
}

// compare judges the calls once they are complete. It drops repetitions.
func (r *callReader) compare() {
	var calls []*wireCall
	for _, c := range r.calls {
		same := slices.IndexFunc(calls, func(o *wireCall) bool { return c.id != "" && o.id == c.id })
		if same >= 0 && calls[same].repeatedBy(c) {
			r.add(true, "call_twice", "the same call comes twice, with the id %q", c.id)
			continue
		}
		r.add(same >= 0, "repeated_ids", "two calls of one reply have the id %q", c.id)
		r.add(c.index != nil && slices.ContainsFunc(calls, func(o *wireCall) bool { return o.index != nil && *o.index == *c.index }),
			"index_repeated", "two calls of one reply have the index %d", *orZero(c.index))
		r.add(c.id == "", "no_call_id", "calls have no id")
		r.add(c.bare(), "no_arguments", "arguments are empty, null or missing")
		calls = append(calls, c)
	}
	r.calls = calls
}

// bare reports whether a call has no arguments, not even an empty object.
func (c *wireCall) bare() bool {
	args := strings.TrimSpace(c.args)
	return args == "" || args == "null"
}

// repeatedBy reports whether a later call with the same id is the same call.
func (c *wireCall) repeatedBy(other *wireCall) bool {
	if other.name != "" && other.name != c.name {
		return false
	}
	return other.args == c.args || other.bare() || c.args == "{}"
}

// piece adds a call or a piece of one.
func (r *callReader) piece(p piece, streamed bool) {
	id, name, args := deref(p.ID), deref(p.Function.Name), p.Function.text()
	if streamed {
		r.add(p.Index == nil, "index_missing", "pieces of calls have no index")
		r.add(len(r.calls) == 0 && p.Index != nil && *p.Index > 0, "index_from_one", "the first call has the index %d", *orZero(p.Index))
	}
	if c := r.continued(p, id, name); streamed && c != nil {
		r.add(p.ID != nil && id == "" && c.id != "", "empty_id_later", `later pieces of a call have the id ""`)
		r.add(p.Function.Name != nil && name == "" && c.name != "", "empty_name_later", `later pieces of a call have the name ""`)
		c.args += args
		return
	}
	index := p.Index
	if !streamed {
		index = nil // it says nothing there
	}
	r.calls = append(r.calls, &wireCall{index, id, name, args})
}

// continued returns the call that a piece goes on with; nil if it begins one.
func (r *callReader) continued(p piece, id, name string) *wireCall {
	for _, c := range slices.Backward(r.calls) {
		if p.Index != nil && c.index != nil && *p.Index != *c.index {
			continue
		}
		again := name == "" || name == c.name && !json.Valid([]byte(c.args))
		if again && (id == "" || id == c.id) {
			return c
		}
		return nil
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orZero(n *int) *int {
	if n == nil {
		return new(int)
	}
	return n
}
