package mcptools

import (
	"errors"
	"fmt"
)

// ServerError reports that something could not be done with a server: it could not be started or
// reached, it broke off, or it did something that it may not do. Its text is written for a model,
// too.
type ServerError struct {
	Server string // its name
	Doing  string // what was not done, such as "connect"
	Err    error  // the cause; its text has no secret of the Config
	Advice string // what to do; may be empty
}

// Error says which server, what failed, and what to do.
func (e *ServerError) Error() string {
	text := fmt.Sprintf("mcptools: the server %.64q: cannot %s: %v", e.Server, e.Doing, e.Err)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// cause is an error with a text without secrets.
type cause struct {
	text string
	err  error
}

// Error returns the text.
func (e *cause) Error() string { return e.text }

// Unwrap returns the error that the text is of.
func (e *cause) Unwrap() error { return e.err }

const mostErrorText = 2 << 10

// failure returns the error for something that could not be done with the server.
func (s *Toolset) failure(doing string, err error) error {
	if _, ok := errors.AsType[*ServerError](err); ok {
		return err
	}
	e := &ServerError{Server: s.cfg.Name, Doing: clean(doing, 200), Err: &cause{text: clean(s.redact.text(err.Error()), mostErrorText), err: err}}
	switch {
	case errors.Is(err, errClosed):
		e.Advice = "connect again"
	case errors.Is(err, errPause):
		e.Advice = "use other tools meanwhile"
	}
	return e
}
