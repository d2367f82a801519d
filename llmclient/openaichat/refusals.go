package openaichat

import (
	"fmt"
	"strconv"
)

// features is a set of what a request may hold and some servers refuse.
type features uint16

const (
	cacheMarks features = 1 << iota
	authorNames
	images
	files
	fileURLs // files that are not sent along
	sounds
	toolImages // images in the results of tools
	strictTools
	schemas
)

// refusal says in words what a server does not take, and what to do.
type refusal struct{ what, instead string }

var refusals = map[features]refusal{
	cacheMarks:  {"takes no Cache", "leave it out: what this server caches, it caches by itself"},
	authorNames: {"takes no Name", "write the name into the text"},
	images:      {"takes no Image", "describe the picture in words, or ask a server whose models see"},
	files:       {"takes no File", "give its text"},
	fileURLs:    {"takes no File by its https URL", "give the bytes as a data URL, or the ID of a file that it holds"},
	sounds:      {"takes no Audio", "give what is said as text"},
	strictTools: {"heeds no Strict", "leave it out, or use package anthropic"},
	schemas:     {"heeds no response_format, which the Schema is", "leave it out and ask for JSON in words, or use package anthropic"},
	toolImages:  {"takes no Images in the result of a tool", "have the tool describe them in its text, or show them in a user message"},
}

// place is a place in a request.
type place struct {
	message int
	part    int    // -1: the whole message
	tool    string // the name of a tool; then the place is not in a message
	schema  string // the name of the Schema; the same
}

func inMessage(index int) place { return place{message: index, part: -1} }

func (p place) String() string {
	switch {
	case p.tool != "":
		return "tool " + strconv.Quote(p.tool)
	case p.schema != "":
		return "Schema " + strconv.Quote(p.schema)
	case p.part < 0:
		return "message " + strconv.Itoa(p.message)
	default:
		return fmt.Sprintf("message %d, part %d", p.message, p.part)
	}
}

// takes fails if the server is known to refuse a feature.
func (e *encoder) takes(f features, at place) {
	if e.refuses&f == 0 {
		return
	}
	r := refusals[f]
	e.Fail("%s: %s %s: %s", at, e.domain, r.what, r.instead)
}
