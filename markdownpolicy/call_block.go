package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// callBlock reads the text between two marks. It holds calls as JSON, one after another or in a
// list, or a body in another form, which ends at the closing mark. At the end of the text the
// closing mark may be missing. The end of a list may be missing before the closing mark.
type callBlock struct {
	Options
	start int                // the position of the opening mark
	after int                // the position after it
	ends  []*textscan.Finder // find the closing marks; the first is added if there is none

	name    string                                                               // the tool, if the text is its arguments; "" otherwise
	refused *int                                                                 // the end of the last call that could not be read; may be nil
	body    func(o Options, text string, at int) ([]Part, []Repair, *ParseError) // reads another form; nil: readBody

	values valueForm // the form of values in another form; zero: as valuesOf finds

	limited bool       // a body that contains another opening mark has no end
	ahead   *markAhead // whether the closing mark comes after something unexpected; nil: not yet searched for

	pos     int // the text before it was read
	state   callState
	scan    jsonscan.Scanner
	value   int  // where the current value begins
	listed  bool // the values are in a list
	calls   []Part
	repairs []Repair

	// of text that cannot be read up to the first closing mark
	first  int                    // the position of that mark
	err    *ParseError            // why
	tried  int                    // the closing marks before it do not end the calls; 0: none was looked at
	within func(text string) bool // whether a text ends in a value
}

type callState uint8

const (
	callStart callState = iota // before a value, or after all of them
	callValue                  // in JSON
	callBody                   // in another form
)

// limitLookahead implements [lookaheadLimiter].
func (b *callBlock) limitLookahead() { b.limited = true }

func (b *callBlock) read(text string, final bool) verdict {
	for {
		var v verdict
		var decided bool
		switch b.state {
		case callStart:
			v, decided = b.next(text, final)
		case callValue:
			v, decided = b.json(text, final)
		default:
			return b.plain(text, final)
		}
		if decided {
			return v
		}
	}
}

// next reads what follows the mark or a value.
func (b *callBlock) next(text string, final bool) (verdict, bool) {
	b.pos = jsonscan.SkipBlanks(text, max(b.pos, b.after))
	mark, ends, wait := b.closing(text, final)
	switch {
	case wait || b.pos == len(text) && !final:
		return verdict{}, true
	case mark != "" && len(b.calls) == 0 && b.name != "":
		b.calls = []Part{callAt(b.start, b.name, "{}")}
		return b.done(b.pos + len(mark)), true
	case mark != "" && len(b.calls) > 0:
		return b.done(b.pos + len(mark)), true
	case ends && len(b.calls) > 0 && !b.listed:
		return b.unended(len(text)), true
	case mark != "" || ends:
		return b.broken(broken(b.pos, b.expects(), "", nil), b.pos), true
	}
	switch kind, wait := b.kindAt(text, final); {
	case wait:
		return verdict{}, true
	case kind == listMark:
		b.listed = text[b.pos] != ']'
		b.pos++
	case kind == listValue:
		b.state, b.value = callValue, b.pos
		b.scan.Begin(b.pos)
	case b.name != "" && (len(b.calls) == 0 || text[b.pos] == '{'):
		return b.broken(brokenFrom(text, b.pos, b.expects()), b.pos), true
	case len(b.calls) > 0:
		return b.unclosed(text, final)
	default:
		b.state = callBody
	}
	return verdict{}, false
}

// closing returns the closing mark at the current position, or "". ends means that the text ends
// there, with or without a part of a mark; wait means that more text is needed.
func (b *callBlock) closing(text string, final bool) (mark string, ends, wait bool) {
	for _, f := range b.ends {
		yes, partly := textscan.StandsAt(text, b.pos, f.Mark, final)
		if yes {
			return f.Mark, false, false
		}
		ends = ends || strings.HasPrefix(f.Mark, text[b.pos:])
		wait = wait || partly
	}
	return "", ends, wait
}

// expects describes what is expected at the current position.
func (b *callBlock) expects() string {
	switch {
	case b.name == "":
		return hermesForm.expects()
	case len(b.calls) > 0:
		return b.ends[0].Mark
	default:
		return `the arguments of "` + b.name + `" as a JSON object`
	}
}

type listKind uint8

const (
	listOther listKind = iota
	listValue          // an object
	listMark           // the beginning of a list of objects, a comma in it, or its end
)

// kindAt classifies the text at the current position; wait means that more text is needed.
func (b *callBlock) kindAt(text string, final bool) (kind listKind, wait bool) {
	switch c := text[b.pos]; {
	case b.name != "" && (c != '{' || len(b.calls) > 0):
		return listOther, false
	case c == '{':
		return listValue, false
	case c == '[' && len(b.calls) == 0 && !b.listed:
		yes, wait := jsonscan.BeginsObjects(text, b.pos)
		if yes {
			kind = listMark
		}
		return kind, wait && !final
	case (c == ',' || c == ']') && len(b.calls) > 0 && b.listed:
		return listMark, false
	default:
		return listOther, false
	}
}

// unclosed handles text in the place of the closing mark. A few superfluous brackets are dropped.
// Text that continues the call, or that precedes the closing mark, belongs to the call: it is not
// text after a call without a closing mark.
func (b *callBlock) unclosed(text string, final bool) (verdict, bool) {
	if b.Mode != ModeRepair {
		return b.broken(brokenFrom(text, b.pos, b.ends[0].Mark), b.pos), true
	}
	end, wait := excessBrackets(text, b.pos, final)
	if wait {
		return verdict{}, true
	}
	continued, wait := b.continues(text, final)
	switch {
	case continued || wait:
	case end > b.pos:
		b.repairs = append(b.repairs, Repair{Offset: b.pos, What: "left out brackets that nothing opened"})
		b.pos = end
		return verdict{}, false
	default:
		if b.ahead == nil {
			b.ahead = newMarkAhead(text[b.start:b.after], b.ends[0].Mark)
		}
		continued, wait = b.ahead.closes(text, b.pos, final)
	}
	switch {
	case wait:
		return verdict{}, true
	case continued:
		return b.broken(brokenFrom(text, b.pos, b.ends[0].Mark), b.pos), true
	}
	b.repairs = append(b.repairs, Repair{Offset: b.pos, What: "added the missing " + b.ends[0].Mark})
	return b.done(b.pos), true
}

// continues is [jsonscan.Continues] for a call between marks, where a key continues the call even
// without a comma.
func (b *callBlock) continues(text string, final bool) (yes, wait bool) {
	next := jsonscan.Lookahead{Text: text, Pos: b.pos}
	if _, yes = next.Key(); yes || next.Partial {
		return yes, !yes && !final
	}
	return jsonscan.Continues(text, b.pos, final)
}

// excessBrackets returns the position after the closing brackets and blanks at pos; wait means that
// more of them may come.
func excessBrackets(text string, pos int, final bool) (end int, wait bool) {
	const most = 16
	window := text[:min(len(text), pos+most)]
	end = len(window) - len(strings.TrimLeft(window[pos:], "]} \t\r\n"))
	return end, end == len(text) && end < pos+most && !final
}

// json reads a JSON value.
func (b *callBlock) json(text string, final bool) (verdict, bool) {
	stop, state := b.scan.Scan(text)
	end := stop
	switch {
	case state == jsonscan.Done:
	case state == jsonscan.Invalid && b.Mode == ModeText: // repairs cannot help
		return b.broken(broken(end, b.expects(), "", nil), end), true
	case state == jsonscan.More && !final:
		return verdict{}, true
	default:
		var known bool
		if end, known = b.brokenEnd(text, stop, final); !known {
			return verdict{}, true
		}
	}
	if err := b.add(text, b.value, end); err != nil {
		return b.broken(err, max(end, stop)), true
	}
	b.state, b.pos = callStart, end
	return verdict{}, false
}

// brokenEnd returns the end of JSON that is broken at stop: after its brackets, or before the first
// closing mark from there on. One before is in a string.
func (b *callBlock) brokenEnd(text string, stop int, final bool) (end int, known bool) {
	closing, _ := firstMark(b.ends, text, stop)
	upTo := text
	if closing >= 0 {
		upTo = text[:closing]
	}
	if end, ok := b.scan.End(upTo); ok {
		return end, true
	}
	return len(upTo), closing >= 0 || final
}

// add reads a JSON value as calls.
func (b *callBlock) add(text string, from, to int) *ParseError {
	values, repairs, err := callValues(text[from:to], from, b.Mode)
	if err != nil {
		err.Expected = hermesForm.expects()
		return err
	}
	read := b.readJSON
	switch {
	case b.name != "":
		read = b.readArguments
	case text[from] == '[':
		read = b.readElement
	}
	var calls []Part
	for offset, value := range values {
		call, more, err := read(value, from+offset)
		if err != nil {
			return err
		}
		repairs = append(repairs, more...)
		calls = append(calls, Part{Content: call, Start: from + offset})
	}
	b.calls, b.repairs = append(b.calls, calls...), append(b.repairs, repairs...)
	return nil
}

// readArguments reads the arguments of the tool whose name is known.
func (b *callBlock) readArguments(text string, at int) (messages.ToolCall, []Repair, *ParseError) {
	object, repairs, err := readObject(text, at, b.Mode)
	if err != nil {
		err.Expected = b.expects()
	}
	return messages.ToolCall{Name: b.name, Arguments: object}, repairs, err
}

// plain searches for the end of a body that is not JSON: the first closing mark to which it can be
// read, or else the first that is in no value. In ModeRepair, what precedes the first mark may be
// repaired.
func (b *callBlock) plain(text string, final bool) verdict {
	for {
		at, mark := firstMark(b.ends, text, max(b.pos, b.tried))
		switch {
		case at < 0 && !final:
			return verdict{}
		case at < 0:
			at = len(text)
		}
		if b.limited && strings.Contains(text[b.after:at], text[b.start:b.after]) {
			return b.broken(broken(b.pos, b.ends[0].Mark, "", nil), b.after)
		}
		first := b.within == nil
		if first {
			b.first, b.within = at, valuesOf(text[:at], b.pos, b.values)
		}
		within := b.within(text[:at])
		if first || !within {
			v, err := b.readTo(text[b.pos:at], at, mark)
			if err == nil {
				return v
			}
			if first {
				b.err = err
			}
		}
		if b.tried = at + len(mark); within && mark != "" && !b.limited {
			continue
		}
		v, err := verdict{}, b.err
		closed, repairs := closeParameter(text[b.pos:b.first], b.pos, b.Mode)
		if repairs != nil {
			_, mark = firstMark(b.ends, text, b.first)
			v, err = b.readTo(closed, b.first, mark)
		}
		if err != nil {
			v = b.broken(b.err, b.first)
		}
		v.repairs, v.seen = append(v.repairs, repairs...), max(v.seen, at)
		return v
	}
}

// readTo reads a body up to a closing mark; "" means that the text ends without one.
func (b *callBlock) readTo(body string, at int, mark string) (v verdict, err *ParseError) {
	read := b.body
	if read == nil {
		read = Options.readBody
	}
	if b.calls, b.repairs, err = read(b.Options, body, b.pos); err != nil {
		return verdict{}, err
	}
	if mark == "" {
		return b.unended(at), nil
	}
	return b.done(at + len(mark)), nil
}

// done ends the block at end. Each call extends from its beginning, the first from the mark, to the
// beginning of the next.
func (b *callBlock) done(end int) verdict {
	last := end
	for i := len(b.calls) - 1; i >= 0; i-- {
		b.calls[i].End = last
		if i == 0 {
			b.calls[i].Start = b.start
		}
		last = b.calls[i].Start
	}
	return verdict{kind: isParts, end: end, parts: b.calls, repairs: b.repairs}
}

// unended is done for a text that ends before the closing mark.
func (b *callBlock) unended(end int) verdict {
	leaveOpen(b.calls)
	return b.done(end)
}

// broken reports a text that is meant as a call but is not one. If it becomes text, only the mark
// does, so that a mark directly after it is found.
func (b *callBlock) broken(err *ParseError, looked int) verdict {
	if b.refused != nil {
		*b.refused = max(*b.refused, looked)
	}
	return verdict{kind: isBroken, end: b.after, seen: looked, err: err}
}

// callAt returns a call that begins at a position.
func callAt(at int, name, arguments string) Part {
	return Part{Content: messages.ToolCall{Name: name, Arguments: arguments}, Start: at}
}
