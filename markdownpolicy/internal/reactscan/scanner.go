package markdownpolicy

import "strings"

// section is what stands under one keyword; before the first one, it is the preface.
type section struct {
	key  keyword // noKeyword: the preface
	mark int     // where its keyword begins
	from int     // behind the keyword
	to   int     // its end, once it is closed
}

// lineState says what is looked for at the place that a turnScan has come to.
type lineState uint8

const (
	atLine  lineState = iota // a keyword
	atValue                  // what follows a keyword on its line: no keyword, but a fence or an escape
	midLine                  // the end of the line
)

// turnScan divides a reply that arrives in pieces into sections. What belongs to a thought or to
// the answer beyond doubt goes to out at once.
type turnScan struct {
	kind func(action string) actionKind

	pos    int
	state  lineState
	retry  int // length of the text at which it is worth to look at the line again, so that all looks take linear time
	closed []section
	cur    section
	fed    int // text of cur before it has been given to out

	fences    int // lines in cur that are fences
	held      int // the last of them, if nothing but blanks follows; else -1
	maybe     int // where something begins that is an answer if there is no other; else -1
	maybeFrom int
	next      int // an Action line where none is due; else -1

	wrapped  bool // the reply stands in a code block
	done     bool // what follows stop is no part of the turn
	stop     int
	observed int // behind the keyword of an invented observation; else -1

	out collector
}

func newTurnScan(kind func(string) actionKind) *turnScan {
	return &turnScan{kind: kind, held: -1, maybe: -1, next: -1, observed: -1}
}

// advance looks at what has come.
func (t *turnScan) advance(text string, final bool) {
	for !t.done && t.pos < len(text) {
		if t.state == midLine {
			if !t.skipLine(text, final) {
				break
			}
			continue
		}
		if len(text) < t.retry && !final {
			break
		}
		m := readMark(text[t.pos:], final)
		if m.partial {
			t.retry = len(text) + (len(text)-t.pos)/8
			break
		}
		t.begin(text, m)
	}
	if !t.done {
		t.feed(text)
	}
}

const inlineAnswer = "Final Answer:"

// skipLine goes to the next line. It returns false if that is not there yet.
func (t *turnScan) skipLine(text string, final bool) bool {
	end, whole := len(text), false
	if i := strings.IndexByte(text[t.pos:], '\n'); i >= 0 {
		end, whole = t.pos+i+1, true
	}
	seek := t.cur.key == keyThought && t.maybe < 0
	if seek {
		t.seekAnswer(text, end)
	}
	if seek && !whole && !final {
		end = max(t.pos, end-len(inlineAnswer)+1)
	}
	t.pos = end
	if whole {
		t.state = atLine
	}
	return whole
}

// seekAnswer looks for a final answer that begins within a line of a thought, up to end.
func (t *turnScan) seekAnswer(text string, end int) {
	for at := t.pos; ; at += len(inlineAnswer) {
		i := strings.Index(text[at:end], inlineAnswer)
		if i < 0 {
			return
		}
		if at += i; t.opens(text, at) {
			t.maybe, t.maybeFrom = at, at+len(inlineAnswer)
			return
		}
	}
}

// opens reports whether a keyword within a line may stand at a place: behind a blank or the end of
// a sentence.
func (t *turnScan) opens(text string, at int) bool {
	return at == t.cur.from || strings.IndexByte(" \t.!?*", text[at-1]) >= 0
}

// begin deals with the beginning of a line, or of what follows a keyword.
func (t *turnScan) begin(text string, m mark) {
	atStart := t.state == atLine
	t.state = midLine
	at := t.pos
	if atStart && m.key != noKeyword && t.keyword(text, m) {
		return
	}
	if !m.blank {
		t.next = t.nextAction(m, atStart)
		t.held = -1
	}
	switch {
	case m.fence:
		t.fences++
		t.held = at
	case m.escape > 0 && t.streams() && t.maybe < 0:
		t.feed(text)
		t.feedTo(text, at+m.escape-1)
		t.fed = at + m.escape
		t.pos = t.fed
	}
}

// nextAction returns the place of the Action line that begins here in an input or an answer, which
// it may end, or -1.
func (t *turnScan) nextAction(m mark, atStart bool) int {
	if atStart && m.key == keyAction && (t.cur.key == keyInput || t.cur.key == keyAnswer) {
		return t.pos
	}
	return -1
}

// keyword deals with a line that begins with one. It returns false if that is text.
func (t *turnScan) keyword(text string, m mark) bool {
	at, from := t.pos, t.pos+m.end
	switch t.cur.key {
	case keyAction:
		return t.afterAction(text, m, at, from)
	case keyInput, keyAnswer:
		return t.within(text, m, at, from)
	default: // nothing that ends with its own rules
	}
	switch m.key {
	case keyMaybe:
		if t.cur.key == keyThought && t.maybe < 0 {
			t.maybe, t.maybeFrom = at, from
		}
		return false
	case keyObservation:
		t.end(text, at, from)
	default:
		t.open(text, m.key, at, from)
	}
	return true
}

// afterAction deals with a keyword behind an Action line.
func (t *turnScan) afterAction(text string, m mark, at, from int) bool {
	switch {
	case m.key == keyMaybe:
		return false
	case m.key == keyInput, t.goesOn(m.key, t.kind(text[t.cur.from:at])):
		t.open(text, m.key, at, from)
	default:
		t.end(text, at, observedAt(m, from))
	}
	return true
}

// goesOn reports whether the turn goes on with a keyword behind an action of that kind.
func (t *turnScan) goesOn(k keyword, kind actionKind) bool {
	return k == keyAnswer && kind != realAction || k == keyThought && kind == noAction
}

// within deals with a keyword in an input or an answer, most of which are part of it.
func (t *turnScan) within(text string, m mark, at, from int) bool {
	answer := t.cur.key == keyAnswer
	switch {
	case m.key == keyInput && t.next >= 0:
		t.end(text, t.next, -1)
	case answer && !m.plain, m.key != keyThought && m.key != keyObservation && (m.key != keyAnswer || answer):
		return false
	case !answer && t.goesOn(m.key, t.inputKind(text)):
		t.open(text, m.key, at, from)
	default:
		t.end(text, at, observedAt(m, from))
	}
	return true
}

// inputKind is the kind of the action that the input in cur is for.
func (t *turnScan) inputKind(text string) actionKind {
	if len(t.closed) > 0 {
		if s := t.closed[len(t.closed)-1]; s.key == keyAction {
			return t.kind(text[s.from:s.to])
		}
	}
	return realAction
}

func observedAt(m mark, from int) int {
	if m.key == keyObservation {
		return from
	}
	return -1
}

// open closes the section and begins another.
func (t *turnScan) open(text string, key keyword, at, from int) {
	t.close(text, at)
	t.cur = section{key: key, mark: at, from: from}
	t.fed, t.pos, t.state = from, from, atValue
	t.fences, t.held, t.maybe, t.next = 0, -1, -1, -1
}

// end ends the turn.
func (t *turnScan) end(text string, at, observed int) {
	t.done, t.stop, t.observed = true, at, observed
	if t.maybe < 0 {
		t.close(text, at)
	}
}

// close ends the section: a fence at its end that has no partner in it belongs to the reply, not to
// it.
func (t *turnScan) close(text string, to int) {
	if t.held >= 0 && t.fences%2 == 1 && (t.wrapped || t.cur.key == keyThought || t.cur.key == noKeyword) {
		t.wrapped = true
		to = min(to, t.held)
	}
	t.held, t.next = -1, -1
	t.cur.to = to
	switch {
	case t.cur.key == noKeyword:
		t.feedUnescaped(text, to)
	case t.maybe >= 0:
		t.feedTo(text, t.maybe)
		t.feedUnescaped(text, to)
	case t.streams():
		t.feedTo(text, to)
	}
	t.maybe = -1
	t.out.close()
	t.closed = append(t.closed, t.cur)
}

// streams reports whether the section is one whose text is released as it comes.
func (t *turnScan) streams() bool { return t.cur.key == keyThought || t.cur.key == keyAnswer }

// feed gives the section what belongs to it beyond doubt.
func (t *turnScan) feed(text string) {
	if !t.streams() {
		return
	}
	to := t.pos
	for _, limit := range [...]int{t.held, t.maybe, t.next} {
		if limit >= 0 {
			to = min(to, limit)
		}
	}
	t.feedTo(text, to)
}

func (t *turnScan) feedTo(text string, to int) {
	if to > t.fed {
		t.give(text[t.fed:to], to)
	}
}

// feedUnescaped gives the section text whose escapes were not dealt with.
func (t *turnScan) feedUnescaped(text string, to int) {
	if to > t.fed {
		t.give(unescapeMarks(text[t.fed:to]), to)
	}
}

// give gives the section what stands between fed and to.
func (t *turnScan) give(s string, to int) {
	if t.cur.key == keyAnswer {
		t.out.literal(s, t.fed, to)
	} else {
		t.out.think(s, t.fed, to)
	}
	t.fed = to
}

// finish says that nothing more comes. It returns the sections, and whether the text has no keyword
// at all.
func (t *turnScan) finish(text string) (sections []section, implicit bool) {
	t.advance(text, true)
	if !t.done {
		t.stop = len(text)
	}
	text = text[:t.stop]
	switch {
	case t.maybe >= 0:
		t.cutAtMaybe(text)
		t.close(text, len(text))
	case !t.done && t.cur.key == noKeyword:
		return nil, true
	case !t.done:
		t.close(text, len(text))
	}
	return t.closed, false
}

// cutAtMaybe ends the thought where an answer begins unless there is another, since there is none.
func (t *turnScan) cutAtMaybe(text string) {
	at := t.maybe
	t.done, t.maybe, t.held = false, -1, -1
	t.open(text, keyAnswer, at, t.maybeFrom)
	t.advance(text, true)
}
