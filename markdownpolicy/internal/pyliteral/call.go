package pyliteral

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonrepair"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Call is a call such as name(argument=value, …), and its place in the text.
type Call struct {
	Name       string
	Arguments  string // a JSON object
	Start, End int
}

// ReadList reads the list of calls from at to the end of the text. If lenient is set, missing
// brackets are added at the end, and strings may extend over several lines.
func ReadList(text string, at int, lenient bool) ([]Call, []jsonrepair.Change, *Error) {
	r := reader{text: text, pos: at, lenient: lenient}
	r.enter()
	var calls []Call
	for more := r.next() != ']'; more; {
		call, ok := r.call()
		if !ok {
			return nil, nil, r.err
		}
		calls = append(calls, call)
		if more, ok = r.more(']'); !ok {
			return nil, nil, r.err
		}
	}
	if r.pos < len(text) {
		r.fail("the end of the list of calls")
		return nil, nil, r.err
	}
	return calls, r.changes, nil
}

// ReadCalls reads calls one after another, with or without commas, or in a list as ReadList does.
// A call may be the argument of the function around, unless that is "".
func ReadCalls(around, text string, lenient bool) ([]Call, []jsonrepair.Change, *Error) {
	r := reader{text: text, lenient: lenient}
	if r.space(); r.next() == '[' {
		return ReadList(text, r.pos, lenient)
	}
	var calls []Call
	for more := true; more; more = r.pos < len(text) {
		within := r.within(around)
		call, ok := r.call()
		if !ok {
			return nil, nil, r.err
		}
		if r.space(); within {
			if r.next() != ')' {
				r.fail(") behind the call")
				return nil, nil, r.err
			}
			r.pos++
		}
		calls = append(calls, call)
		if r.space(); r.next() == ',' {
			r.pos++
			r.space()
		}
	}
	return calls, r.changes, nil
}

// within reports whether the next call is the argument of a function, whose name it skips.
func (r *reader) within(around string) bool {
	outer := Lookahead{Text: r.text, Pos: r.pos}
	if around == "" || outer.Name() != around || !outer.Skip("(") {
		return false
	}
	inner := outer
	if inner.Name() == "" || !inner.Skip("(") {
		return false
	}
	r.pos = outer.Pos
	r.space()
	return true
}

// call reads name(argument=value, …).
func (r *reader) call() (Call, bool) {
	start := r.pos
	head := Lookahead{Text: r.text, Pos: r.pos}
	name := head.Name()
	if name == "" || !head.Skip("(") {
		return Call{}, r.fail("a call, such as name(argument=value)")
	}
	r.pos = head.Pos - 1
	r.out = nil
	if !r.enter() || !r.arguments() {
		return Call{}, false
	}
	return Call{Name: name, Arguments: r.json(), Start: start, End: r.pos}, true
}

// arguments reads the arguments and the closing parenthesis.
func (r *reader) arguments() bool {
	if r.next() == ')' {
		r.leave()
		r.out = append(r.out, "{}"...)
		return true
	}
	if strings.HasPrefix(r.text[r.pos:], "**") {
		r.pos += len("**")
		if r.space(); r.next() != '{' {
			return r.fail("a dict behind **")
		}
		more, ok := false, r.dict()
		if ok {
			more, ok = r.more(')')
		}
		return ok && (!more || r.fail(") behind **{…}"))
	}
	return r.members(')', r.argument)
}

// argument reads a name and its equals sign.
func (r *reader) argument() bool {
	name := r.word()
	if !isName(name) {
		return r.fail("argument=value")
	}
	r.out = jsonscan.AppendString(r.out, name)
	r.pos += len(name)
	if r.space(); r.next() != '=' {
		return r.fail("argument=value")
	}
	return true
}

// isName reports whether s is a valid argument name in Python.
func isName(s string) bool {
	const most = 64
	if s == "" || len(s) > most || textscan.IsDigit(s[0]) {
		return false
	}
	for i := range len(s) {
		if !textscan.IsLetter(s[i]) && !textscan.IsDigit(s[i]) {
			return false
		}
	}
	return true
}
