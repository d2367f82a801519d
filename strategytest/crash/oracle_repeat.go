package crash

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
)

// madeCall is what became of a call, the last time that it was made.
type madeCall struct {
	times int
	news  int
	with  string
	out   messages.ToolOutput
}

// hears says that something is new, to an actor and to all above it.
func (a *actor) hears() {
	for ; a != nil; a = a.up {
		*a.news++
	}
}

// repeating is a batch, seen by who looks for repetitions as orchestrator.Config.Repeats says.
type repeating struct {
	forms   []string // of the calls of a model; "": it may not be one
	with    string   // the calls that change something
	changes []bool
	refused []bool
	out     bool // no model has asked for the batch
}

// repeats looks at a batch before it is made.
func (o *oracle) repeats(a *actor, calls []messages.ToolCall) *repeating {
	r := &repeating{forms: make([]string, len(calls)), changes: make([]bool, len(calls)), refused: make([]bool, len(calls))}
	most := cmp.Or(o.cfg.Repeats, 2)
	_, replied := messages.History(a.since).Last().(messages.Assistant)
	r.out = most < 0 || len(a.since) != 1 || !replied
	for i, c := range calls {
		def, tool := o.tool(a, c)
		if def == nil {
			continue
		}
		own := false
		for _, t := range a.own {
			own = own || t.Definition().Name == c.Name
		}
		form := c.Name + " " + sorted(c.Arguments)
		if tool != nil && !own && !def.Repeatable {
			r.forms[i] = form
		}
		if !def.ReadOnly {
			r.changes[i] = true
			r.with += form + "; "
		}
	}
	for i, form := range r.forms {
		if m := a.made[form]; form != "" && m != nil && !r.out {
			r.refused[i] = m.times >= most && m.news == *a.news && (m.with == "" || m.with == r.with)
		}
	}
	return r
}

// over looks at a batch that was made.
func (r *repeating) over(a *actor, results []messages.ToolOutput) {
	before := *a.news
	for i, changes := range r.changes {
		if changes && !r.refused[i] && results[i].Reason != machine.ReasonRefused {
			*a.news = before + 1
		}
	}
	if r.out {
		return
	}
	now := map[string]*madeCall{}
	for i, form := range r.forms {
		if form == "" || r.refused[i] {
			continue
		}
		came := results[i]
		came.CallID, came.Elapsed = "", 0
		last := a.made[form]
		next := &madeCall{times: 1, news: *a.news, with: r.with, out: came}
		switch twice := now[form]; {
		case twice != nil && reflect.DeepEqual(twice.out, came):
			continue
		case twice == nil && last != nil && last.news == before && (last.with == "" || last.with == r.with) && reflect.DeepEqual(last.out, came):
			next.times = last.times + 1
			results[i].Reason = messages.ReasonSame
		}
		now[form] = next
	}
	if a.made == nil {
		a.made = map[string]*madeCall{}
	}
	maps.Copy(a.made, now)
}

// sorted writes JSON with sorted keys and without blanks, and other text as it is.
func sorted(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if e.Encode(v) != nil {
		return text
	}
	return b.String()
}
