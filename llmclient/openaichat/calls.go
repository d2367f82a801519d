package openaichat

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// call is a tool call that is being built.
type call struct {
	index  int64 // -1 if the server sends none
	id     string
	made   string // the id that was told before the server sent one
	name   string
	args   []byte
	object object // the state of args
	told   int    // how many bytes of args were handed on
	extras messages.Extras
}

// calls builds tool calls from whole ones or from pieces.
type calls struct {
	offered  []tools.Definition // of the request
	list     []*call
	function *call // function_call, used if there are no tool calls
}

// add adds a whole call, or a piece to its call, and returns the place of the call.
func (cs *calls) add(p *callPiece, whole bool) int {
	c := cs.find(p)
	if c == nil || whole || cs.startsAnew(c, p) {
		c = &call{index: p.index}
		cs.list = append(cs.list, c)
	}
	c.name, _ = cs.grows(c, p)
	c.take(p)
	return slices.Index(cs.list, c)
}

// legacy adds a function_call or a piece of one. Some servers send an empty one beside tool_calls:
// it is ignored.
func (cs *calls) legacy(p *callPiece) {
	if len(p.name) == 0 && len(p.args) == 0 {
		return
	}
	if cs.function == nil {
		cs.function = &call{index: noIndex}
	}
	cs.function.take(p)
}

// supply gives one of the calls that came what is missing in its arguments, from a whole call that
// stands elsewhere in the answer: in the message beside the deltas, or in the old field. It is the
// call with the same id, or else the one at the same place, and has the same name. It returns the
// place of the call, or of one beyond those that came with the same content; -1 if there is none.
func supply(came []*call, at int, p *callPiece) int {
	for i, c := range came {
		if len(p.id) > 0 && c.id == string(p.id) {
			at = i
		}
	}
	if at >= len(came) {
		return slices.IndexFunc(came, func(c *call) bool {
			_, agree := wire.JoinArguments(c.args, p.args)
			return agree && c.name == string(p.name)
		})
	}
	c := came[at]
	rest, goesOn := bytes.CutPrefix(p.args, c.args)
	if goesOn {
		p.args = rest
	}
	if c.name == string(p.name) && (wire.NoArguments(c.args) || goesOn && !c.object.complete()) {
		c.take(p)
	}
	return at
}

// find returns the call that a piece may belong to, or nil. A call with the id of the piece comes
// first. Otherwise it is the newest call with the index of the piece; a missing index fits any. If
// both that call and the piece have an id, the piece belongs to no call so far, unless it can only
// go on with that call: some servers give each piece another id.
func (cs *calls) find(p *callPiece) *call {
	var last, same *call
	for _, c := range cs.list {
		if len(p.id) > 0 && c.id == string(p.id) {
			same = c
		}
		if p.index == noIndex || c.index == noIndex || c.index == p.index {
			last = c
		}
	}
	if same != nil || last == nil {
		return same
	}
	if _, grows := cs.grows(last, p); len(p.id) > 0 && last.id != "" && !grows && (len(p.name) > 0 || last.object.complete()) {
		return nil
	}
	return last
}

// grows reports whether a piece goes on with the name of c, and returns the name with it. It does
// if the longer name begins that of a tool that was offered: the name so far with the piece behind
// it, or the piece itself where it repeats the name so far. If the name so far is such a tool, the
// piece may be neither a repetition nor the name of another.
func (cs *calls) grows(c *call, p *callPiece) (name string, grows bool) {
	if c.name == "" || len(p.name) == 0 || len(c.args) > 0 {
		return c.name, false
	}
	piece, whole := string(p.name), false
	own := strings.HasPrefix(piece, c.name)
	if name = c.name + piece; own {
		name = piece
	}
	for i := range cs.offered {
		offered := cs.offered[i].Name
		whole, own = whole || offered == c.name, own || offered == piece
		grows = grows || strings.HasPrefix(offered, name)
	}
	if !grows || whole && own {
		return c.name, false
	}
	return name, true
}

// startsAnew reports whether a piece begins a new call, although its id or index is that of c. If c
// is complete, an id begins a new call, and so does a name with arguments; a repeated announcement
// without arguments is dropped at the end. If c is incomplete, only the name of another tool begins
// a new call, and only if c has no id.
func (cs *calls) startsAnew(c *call, p *callPiece) bool {
	if c.object.complete() {
		return len(p.id) > 0 || len(p.name) > 0 && len(bytes.TrimSpace(p.args)) > 0
	}
	_, grows := cs.grows(c, p)
	return c.id == "" && c.name != "" && len(p.name) > 0 && c.name != string(p.name) && !grows
}

// take adds the content of a piece. The first id and name are kept. Arguments after an empty object
// replace it.
func (c *call) take(p *callPiece) {
	if c.id == "" {
		c.id = string(p.id)
	}
	if c.name == "" {
		c.name = string(p.name)
	}
	if len(p.args) > 0 && string(c.args) == "{}" {
		c.args, c.object = nil, object{}
	}
	c.args = append(c.args, p.args...)
	c.object.read(p.args)
	for _, m := range p.extras { // but for what stands in function, too: an extra cannot have the name of a field
		if n := string(m.name); n == "name" || n == "arguments" {
			continue
		}
		if c.extras == nil {
			c.extras = messages.Extras{}
		}
		c.extras[string(m.name)] = wire.RawJSON(m.raw)
	}
}

// object reads JSON in pieces, and knows when the object or list in it is closed.
type object struct {
	depth   int
	begun   bool
	quoted  bool
	escaped bool
}

func (o *object) complete() bool { return o.begun && o.depth == 0 }

func (o *object) read(b []byte) {
	for _, ch := range b {
		switch {
		case o.escaped:
			o.escaped = false
		case o.quoted:
			o.quoted = ch != '"'
			o.escaped = ch == '\\'
		case ch == '"':
			o.quoted = true
		case ch == '{' || ch == '[':
			o.depth++
			o.begun = true
		case ch == '}' || ch == ']':
			o.depth--
		}
	}
}

// none reports whether there is no call, not even an incomplete one.
func (cs *calls) none() bool {
	for _, c := range cs.list {
		if c.name != "" || len(c.args) > 0 {
			return false
		}
	}
	return cs.function == nil
}

// complete reports whether there are calls and the last one seems complete.
func (cs *calls) complete() bool {
	last := cs.function
	for i, c := range cs.list {
		again := len(c.args) == 0 && slices.ContainsFunc(cs.list[:i], func(o *call) bool { return c.id != "" && o.id == c.id })
		if !again {
			last = c
		}
	}
	return last != nil && last.name != "" && last.object.complete() && wire.ValidJSON(last.args)
}

// tools returns the calls, without repetitions, each with an id of its own. If the reply was cut, a
// last call with incomplete arguments is left out.
func (cs *calls) tools(cut bool, names *wire.IDs) []messages.ToolCall {
	list := cs.list
	if f := cs.function; f != nil && len(list) == 0 {
		list = []*call{f}
	} else if f != nil {
		supply(list, 0, &callPiece{name: []byte(f.name), args: f.args})
	}
	if n := len(list); cut && n > 0 && !wire.ValidJSON(list[n-1].args) {
		list = list[:n-1]
	}
	var out []messages.ToolCall
	for _, c := range list {
		if t := c.tool(); t.Name != "" || len(bytes.TrimSpace(c.args)) > 0 {
			out = merge(out, t)
		}
	}
	for i := range out {
		if out[i].ID == "" || wire.Known(out[:i], out[i].ID) {
			out[i].ID = names.Next(out)
		}
	}
	return out
}

// tool returns the call in the form of a message part.
func (c *call) tool() messages.ToolCall {
	return messages.ToolCall{ID: cmp.Or(c.made, c.id), Name: c.name, Arguments: wire.Arguments(c.args), Extras: c.extras}
}

// merge appends a call unless it repeats one with the same id. Empty arguments are replaced by
// those of the repetition.
func merge(list []messages.ToolCall, t messages.ToolCall) []messages.ToolCall {
	for i := range list {
		same := &list[i]
		if t.ID == "" || same.ID != t.ID || t.Name != "" && same.Name != t.Name {
			continue
		}
		switch {
		case same.Arguments == "{}":
			same.Arguments = t.Arguments
			return list
		case t.Arguments == "{}" || t.Arguments == same.Arguments:
			return list
		}
	}
	return append(list, t)
}
