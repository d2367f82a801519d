package messages

import "encoding/json"

// Citation is a source that a model names for a part of its text. Fields that the provider did not
// send are zero.
type Citation struct {
	// Start and End are the place in the text that the source is for, in bytes of Text.Text. Both
	// are 0 if the source is for the text as a whole.
	Start, End int

	URL    string
	Title  string
	FileID string // of a file that the provider holds
	Quote  string // the cited words of the source

	Raw json.RawMessage // the citation as the provider wrote it, without blanks between tokens; nil or JSON
}
