package markdownpolicy

import "fmt"

// ParseError says where a reply could not be read, and what was expected there.
type ParseError struct {
	Policy   string // name of the policy
	Offset   int    // in bytes of the text
	Line     int    // from 1
	Expected string // such as `a JSON object with "name" and "arguments"`
	Found    string // what stands there, shortened
	Err      error  // the cause, if there is one

	onward bool // Found is what stands at Offset, of which more may have come since
}

// complete makes Found what it would have been, had the whole text been there.
func (e *ParseError) complete(text string) {
	if e.onward {
		e.Found, e.onward = shorten(text[e.Offset:]), false
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
