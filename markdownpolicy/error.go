package markdownpolicy

import (
	"fmt"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// ParseError says where a reply could not be read, and what was expected there.
type ParseError struct {
	Policy   string // name of the policy
	Offset   int    // in bytes of the text
	Line     int    // from 1
	Expected string // such as `a JSON object with "name" and "arguments"`
	Found    string // what stands there, shortened
	Err      error  // the cause, if there is one

	foundPartly bool // Found is what stands at Offset, of which more may have come since
}

// complete makes Found what it would have been, had the whole text been there.
func (e *ParseError) complete(text string) {
	if e.foundPartly {
		e.Found, e.foundPartly = shorten(text[e.Offset:]), false
	}
}

// Error names policy, line and offset.
func (e *ParseError) Error() string {
	text := fmt.Sprintf("markdownpolicy: %s: line %d (byte %d): expected %s", e.Policy, e.Line, e.Offset, e.Expected)
	if e.Found != "" {
		text += fmt.Sprintf(", found %q", e.Found)
	}
	return text
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// Feedback is a text that tells a model what was wrong with its reply.
func (e *ParseError) Feedback() string {
	text := fmt.Sprintf("Your reply could not be read: on line %d, %s was expected", e.Line, e.Expected)
	if e.Found != "" {
		text += fmt.Sprintf(", but there is %q", e.Found)
	}
	return text + ". Write the whole reply again, in the format that you were given."
}

// broken is an error about the text that stands at an offset of the reply.
func broken(at int, expected, found string, cause error) *ParseError {
	return &ParseError{Offset: at, Expected: expected, Found: shorten(found), Err: cause}
}

// repeated is an error about something that stands twice where only one can be meant.
func repeated(at int, what, found string) *ParseError {
	return broken(at, what+" only once in a call", found, nil)
}

// brokenFrom is an error about what stands at a place of the reply, and goes on to its end, of
// which more may come.
func brokenFrom(text string, at int, expected string) *ParseError {
	e := broken(at, expected, text[at:], nil)
	e.foundPartly = true
	return e
}

// shorten cuts a text to what fits into an error.
func shorten(text string) string {
	const most = 60
	if text = textscan.TrimLeft(text); len(text) <= most { // of a long text, the blanks at its end are not looked for
		return textscan.TrimRight(text)
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// continuedError says that something goes on behind what ended a call.
func continuedError(text string, pos int) *ParseError {
	return brokenFrom(text, pos, "the end of the call, with all arguments before it")
}

// lineCounter counts the lines of places in a text, each at the cost of its distance from the one
// before.
type lineCounter struct{ offset, breaks int }

// line returns the line, from 1, of a place.
func (c *lineCounter) line(text string, offset int) int {
	offset = min(max(offset, 0), len(text))
	if offset >= c.offset {
		c.breaks += strings.Count(text[c.offset:offset], "\n")
	} else {
		c.breaks -= strings.Count(text[offset:c.offset], "\n")
	}
	c.offset = offset
	return c.breaks + 1
}
