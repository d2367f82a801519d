// Package reactscan divides a reply in the ReAct format into the sections under its keywords:
// thoughts, an action with its input, an answer. It does not interpret the sections.
package reactscan

import "strings"

// Section is the text under one keyword. The text before the first keyword is the preface.
type Section struct {
	Key  Keyword // NoKeyword for the preface
	Mark int     // where its keyword begins
	From int     // the position after the keyword
	To   int     // its end, once it is closed
}

// ActionKind is the kind of an Action line.
type ActionKind uint8

// The kinds.
const (
	Call     ActionKind = iota
	Finish              // "FINISH": the input is the answer
	NoAction            // "None"
)

// Output receives what a Scanner releases, in order: text of a section, between two positions of
// the reply, and the ends of sections.
type Output interface {
	Thought(text string, start, end int)
	Answer(text string, start, end int)
	EndSection()
}

// lineState says what the Scanner expects at its current position.
type lineState uint8

const (
	atLine  lineState = iota // a keyword
	atValue                  // the text after a keyword on its line: not a keyword, but a fence or an escape
	midLine                  // the end of the line
)

// Scanner divides a reply that arrives in pieces into sections. Text that certainly belongs to a
// thought or to the answer is released at once.
type Scanner struct {
	out    Output
	kindOf func(action string) ActionKind

	pos      int
	state    lineState
	retry    int // length of the text at which the line is examined again, so that the total time is linear
	closed   []Section
	current  Section
	released int // text of current before it was released

	fences        int // the number of fence lines in current
	lastFence     int // the last of them, if only blanks follow; else -1
	tentative     int // where a tentative answer begins; else -1
	tentativeFrom int // the position after its keyword
	nextAction    int // an unexpected Action line; else -1

	wrapped  bool // the reply is in a code block
	done     bool // text after stop is not part of the turn
	stop     int
	observed int // the position after the keyword of a hallucinated observation; else -1
}

// New returns a scanner. kindOf returns the kind of the action text after "Action:".
func New(out Output, kindOf func(action string) ActionKind) *Scanner {
	return &Scanner{out: out, kindOf: kindOf, lastFence: -1, tentative: -1, nextAction: -1, observed: -1}
}

// Write processes the text so far. Each call passes a longer text.
func (s *Scanner) Write(text string) { s.advance(text, false) }

// Observation returns the position after the keyword of a hallucinated observation, or -1.
func (s *Scanner) Observation() int { return s.observed }

// advance processes the text that has come.
func (s *Scanner) advance(text string, final bool) {
	for !s.done && s.pos < len(text) {
		if s.state == midLine {
			if !s.skipLine(text, final) {
				break
			}
			continue
		}
		if len(text) < s.retry && !final {
			break
		}
		m := ReadMark(text[s.pos:], final)
		if m.partial {
			s.retry = len(text) + (len(text)-s.pos)/8
			break
		}
		s.begin(text, m)
	}
	if !s.done {
		s.releaseCertain(text)
	}
}

const inlineAnswer = "Final Answer:"

// skipLine moves to the next line. It returns false if that has not come yet.
func (s *Scanner) skipLine(text string, final bool) bool {
	end, whole := len(text), false
	if i := strings.IndexByte(text[s.pos:], '\n'); i >= 0 {
		end, whole = s.pos+i+1, true
	}
	seek := s.current.Key == Thought && s.tentative < 0
	if seek {
		s.seekAnswer(text, end)
	}
	if seek && !whole && !final {
		end = max(s.pos, end-len(inlineAnswer)+1)
	}
	s.pos = end
	if whole {
		s.state = atLine
	}
	return whole
}

// seekAnswer searches the line of a thought, up to end, for a final answer within it.
func (s *Scanner) seekAnswer(text string, end int) {
	for at := s.pos; ; at += len(inlineAnswer) {
		i := strings.Index(text[at:end], inlineAnswer)
		if i < 0 {
			return
		}
		if at += i; s.opens(text, at) {
			s.tentative, s.tentativeFrom = at, at+len(inlineAnswer)
			return
		}
	}
}

// opens reports whether a keyword within a line may begin at a position: after a blank or the end
// of a sentence.
func (s *Scanner) opens(text string, at int) bool {
	return at == s.current.From || strings.IndexByte(" \t.!?*", text[at-1]) >= 0
}

// begin processes the beginning of a line, or of the text after a keyword.
func (s *Scanner) begin(text string, m Mark) {
	atStart := s.state == atLine
	s.state = midLine
	at := s.pos
	if atStart && m.Key != NoKeyword && s.keyword(text, m) {
		return
	}
	if !m.blank {
		s.nextAction = s.actionAt(m, atStart)
		s.lastFence = -1
	}
	switch {
	case m.Fence:
		s.fences++
		s.lastFence = at
	case m.escape > 0 && s.streams() && s.tentative < 0:
		s.releaseCertain(text)
		s.releaseTo(text, at+m.escape-1)
		s.released = at + m.escape
		s.pos = s.released
	}
}

// actionAt returns the position of the Action line that begins here in an input or an answer, and
// may end it, or -1.
func (s *Scanner) actionAt(m Mark, atStart bool) int {
	if atStart && m.Key == Action && (s.current.Key == Input || s.current.Key == Answer) {
		return s.pos
	}
	return -1
}

// keyword processes a line that begins with a keyword. It returns false if the line is text.
func (s *Scanner) keyword(text string, m Mark) bool {
	at, from := s.pos, s.pos+m.end
	switch s.current.Key {
	case Action:
		return s.afterAction(text, m, at, from)
	case Input, Answer:
		return s.within(text, m, at, from)
	default: // sections that have no rules of their own for their end
	}
	switch m.Key {
	case TentativeAnswer:
		if s.current.Key == Thought && s.tentative < 0 {
			s.tentative, s.tentativeFrom = at, from
		}
		return false
	case Observation:
		s.end(text, at, from)
	default:
		s.open(text, m.Key, at, from)
	}
	return true
}

// afterAction processes a keyword after an Action line.
func (s *Scanner) afterAction(text string, m Mark, at, from int) bool {
	switch {
	case m.Key == TentativeAnswer:
		return false
	case m.Key == Input, s.continuesTurn(m.Key, s.kindOf(text[s.current.From:at])):
		s.open(text, m.Key, at, from)
	default:
		s.end(text, at, observedAt(m, from))
	}
	return true
}

// continuesTurn reports whether keyword k continues the turn after an action of that kind.
func (s *Scanner) continuesTurn(k Keyword, kind ActionKind) bool {
	return k == Answer && kind != Call || k == Thought && kind == NoAction
}

// within processes a keyword in an input or an answer. Most such keywords are part of the text.
func (s *Scanner) within(text string, m Mark, at, from int) bool {
	answer := s.current.Key == Answer
	switch {
	case m.Key == Input && s.nextAction >= 0:
		s.end(text, s.nextAction, -1)
	case answer && !m.plain, m.Key != Thought && m.Key != Observation && (m.Key != Answer || answer):
		return false
	case !answer && s.continuesTurn(m.Key, s.inputKind(text)):
		s.open(text, m.Key, at, from)
	default:
		s.end(text, at, observedAt(m, from))
	}
	return true
}

// inputKind returns the kind of the action that the current input belongs to.
func (s *Scanner) inputKind(text string) ActionKind {
	if len(s.closed) > 0 {
		if last := s.closed[len(s.closed)-1]; last.Key == Action {
			return s.kindOf(text[last.From:last.To])
		}
	}
	return Call
}

func observedAt(m Mark, from int) int {
	if m.Key == Observation {
		return from
	}
	return -1
}

// open closes the section and begins another.
func (s *Scanner) open(text string, key Keyword, at, from int) {
	s.close(text, at)
	s.current = Section{Key: key, Mark: at, From: from}
	s.released, s.pos, s.state = from, from, atValue
	s.fences, s.lastFence, s.tentative, s.nextAction = 0, -1, -1, -1
}

// end ends the turn.
func (s *Scanner) end(text string, at, observed int) {
	s.done, s.stop, s.observed = true, at, observed
	if s.tentative < 0 {
		s.close(text, at)
	}
}

// close ends the section. A fence at its end without a partner belongs to the reply, not to the
// section.
func (s *Scanner) close(text string, to int) {
	if s.lastFence >= 0 && s.fences%2 == 1 && (s.wrapped || s.current.Key == Thought || s.current.Key == NoKeyword) {
		s.wrapped = true
		to = min(to, s.lastFence)
	}
	s.lastFence, s.nextAction = -1, -1
	s.current.To = to
	switch {
	case s.current.Key == NoKeyword:
		s.releaseUnescaped(text, to)
	case s.tentative >= 0:
		s.releaseTo(text, s.tentative)
		s.releaseUnescaped(text, to)
	case s.streams():
		s.releaseTo(text, to)
	}
	s.tentative = -1
	s.out.EndSection()
	s.closed = append(s.closed, s.current)
}

// streams reports whether the section's text is released as it arrives.
func (s *Scanner) streams() bool { return s.current.Key == Thought || s.current.Key == Answer }

// releaseCertain releases the text that certainly belongs to the section.
func (s *Scanner) releaseCertain(text string) {
	if !s.streams() {
		return
	}
	to := s.pos
	for _, limit := range [...]int{s.lastFence, s.tentative, s.nextAction} {
		if limit >= 0 {
			to = min(to, limit)
		}
	}
	s.releaseTo(text, to)
}

func (s *Scanner) releaseTo(text string, to int) {
	if to > s.released {
		s.release(text[s.released:to], to)
	}
}

// releaseUnescaped releases text whose escapes were not yet removed.
func (s *Scanner) releaseUnescaped(text string, to int) {
	if to > s.released {
		s.release(Unescape(text[s.released:to]), to)
	}
}

// release releases the text from released to a position.
func (s *Scanner) release(written string, to int) {
	if s.current.Key == Answer {
		s.out.Answer(written, s.released, to)
	} else {
		s.out.Thought(written, s.released, to)
	}
	s.released = to
}

// Finish ends the reply. It returns the sections, and whether the text has no keyword at all.
func (s *Scanner) Finish(text string) (sections []Section, implicit bool) {
	s.advance(text, true)
	if !s.done {
		s.stop = len(text)
	}
	text = text[:s.stop]
	switch {
	case s.tentative >= 0:
		s.endAtTentative(text)
		s.close(text, len(text))
	case !s.done && s.current.Key == NoKeyword:
		return nil, true
	case !s.done:
		s.close(text, len(text))
	}
	return s.closed, false
}

// endAtTentative ends the thought at the tentative answer, because no other answer followed.
func (s *Scanner) endAtTentative(text string) {
	at := s.tentative
	s.done, s.tentative, s.lastFence = false, -1, -1
	s.open(text, Answer, at, s.tentativeFrom)
	s.advance(text, true)
}
