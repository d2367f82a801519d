package mcptools

import "fmt"

// ConfigError reports a [Config] that cannot work.
type ConfigError struct {
	Server string // its Name, as given
	Err    error
}

// Error names the server.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("mcptools: the server %.64q: %v", e.Server, e.Err)
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// ServerError reports that a server could not be reached, or broke off.
type ServerError struct {
	Server string // its name
	Doing  string // what was not done, such as "connect" or "list its tools"
	Advice string // what to do; may be empty
	Err    error  // the cause, without secrets
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

// CollisionError reports that two servers offer tools that would have the same name.
type CollisionError struct {
	Tool          string // the name
	First, Second string // the names of the servers; the same one if it is one server
}

// Error names both servers and says what to do.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("mcptools: the servers %.64q and %.64q both offer a tool %q: give one of them a Prefix, or leave the tool out of its Allow",
		e.First, e.Second, e.Tool)
}
