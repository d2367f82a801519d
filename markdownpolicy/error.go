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
	Found    string // the text found there, shortened
	Err      error  // the cause, if there is one

	foundPartly bool // Found was cut at the end of the text so far
}

// complete sets Found to what it would be for the whole text.
func (e *ParseError) complete(text string) {
	if e.foundPartly {
		e.Found, e.foundPartly = shorten(text[e.Offset:]), false
	}
}

// Error includes the policy, the line and the offset.
func (e *ParseError) Error() string {
	text := fmt.Sprintf("markdownpolicy: %s: line %d (byte %d): expected %s", e.Policy, e.Line, e.Offset, e.Expected)
	if e.Found != "" {
		text += fmt.Sprintf(", found %q", e.Found)
	}
	return text
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// Feedback returns a text that tells a model what was wrong with its reply.
func (e *ParseError) Feedback() string {
	text := fmt.Sprintf("Your reply could not be read: on line %d, %s was expected", e.Line, e.Expected)
	if e.Found != "" {
		text += fmt.Sprintf(", but there is %q", e.Found)
	}
	return text + ". Write the whole reply again, in the format that you were given."
}

// broken returns an error about the text at an offset of the reply.
func broken(at int, expected, found string, cause error) *ParseError {
	return &ParseError{Offset: at, Expected: expected, Found: shorten(found), Err: cause}
}

// repeated returns an error about something that occurs twice but may occur only once.
func repeated(at int, what, found string) *ParseError {
	return broken(at, what+" only once in a call", found, nil)
}

// brokenFrom returns an error about the rest of the reply after at. More of the reply may come.
func brokenFrom(text string, at int, expected string) *ParseError {
	e := broken(at, expected, text[at:], nil)
	e.foundPartly = true
	return e
}

// shorten cuts a text for use in an error.
func shorten(text string) string {
	const most = 60
	if text = textscan.TrimLeft(text); len(text) <= most { // the blanks at the end of a long text do not matter
		return textscan.TrimRight(text)
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// continuedError reports text after the end of a call that continues the call.
func continuedError(text string, pos int) *ParseError {
	return brokenFrom(text, pos, "the end of the call, with all arguments before it")
}

// lineCounter returns line numbers of positions. The cost of each is its distance from the one
// before.
type lineCounter struct{ offset, breaks int }

// line returns the line of a position, from 1.
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
