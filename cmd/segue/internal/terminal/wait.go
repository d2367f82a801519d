package main

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// fromOutside is what somebody has to know who is asked for something after a run has read text
// from outside.
const fromOutside = "  Careful: the run has read text from outside, which may have led to this."

// showQuestion shows a question and its options.
func showQuestion(w orchestrator.Wait) []note {
	asker := "the model"
	if w.Tool != "" && w.Tool != tools.AskUserName {
		asker = visible(w.Tool)
	}
	notes := append([]note{{bold, waitPlace(w) + asker + " asks"}}, block("  ", w.Text)...)
	for i, o := range w.Options {
		bullet := "-"
		if numbered(w.Options) {
			bullet = strconv.Itoa(i+1) + "."
		}
		notes = append(notes, note{plain, "  " + bullet + " " + visible(o)})
	}
	return append(notes, when(w.Untrusted, note{warn, fromOutside})...)
}

// showUnknown shows a call that may have had its effect.
func showUnknown(w orchestrator.Wait) []note {
	notes := []note{{bold, waitPlace(w) + visible(w.Tool) + " was cut off, and may have had its effect"}}
	return append(append(notes, block("  ", w.Text)...), showArguments(w.Arguments)...)
}

// showArguments shows an object member by member, in its order, and anything else as it stands.
func showArguments(arguments string) []note {
	members, ok := membersOf(arguments)
	if !ok {
		return block("  ", arguments)
	}
	var notes []note
	for _, m := range members {
		name := "  " + m.shown() + ":"
		var s string
		switch err := json.Unmarshal(m.value, &s); {
		case err != nil || m.value[0] != '"':
			notes = append(notes, note{plain, name + " " + visible(string(m.value))})
		case strings.Contains(s, "\n"):
			notes = append(append(notes, note{plain, name}), block("    ", s)...)
		default:
			notes = append(notes, note{plain, name + " " + strconv.Quote(s)})
		}
	}
	return notes
}

// member is one of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// shown is the name, in quotes if it could be taken for more than that.
func (m member) shown() string {
	odd := func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if m.name == "" || strings.ContainsFunc(m.name, odd) {
		return strconv.Quote(m.name)
	}
	return m.name
}

// membersOf returns what is in a JSON object, names that come twice included; false if text is
// none.
func membersOf(text string) (members []member, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		m := member{name: name.(string)} // the decoder takes no other
		if err := d.Decode(&m.value); err != nil {
			return nil, false
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return members, errors.Is(err, io.EOF)
}

// block shows a text line by line, with a bar before each, so that none of them can be taken for
// something else.
func block(indent, s string) []note {
	var notes []note
	for line := range strings.SplitSeq(s, "\n") {
		notes = append(notes, note{plain, indent + "| " + visible(line)})
	}
	return notes
}

// describeWait tells in a line what a run waits for.
func describeWait(w orchestrator.Wait, verbose bool) string {
	begin := waitPlace(w) + "waits for "
	switch w.Kind {
	case orchestrator.WaitApproval:
		return begin + "approval: " + visible(w.Tool) + " " + brief(w.Arguments, toolColumns, verbose)
	case orchestrator.WaitUnknown:
		return begin + "what is known of a call that was cut off: " + visible(w.Tool) + " " + brief(w.Arguments, toolColumns, verbose)
	case orchestrator.WaitQuestion:
		text := brief(w.Text, textColumns, verbose)
		if len(w.Options) > 0 {
			text += " (" + brief(strings.Join(w.Options, " / "), textColumns, verbose) + ")"
		}
		return begin + "an answer: " + text
	default:
		return begin + oneLine(w.Kind) + colon(brief(w.Text, textColumns, verbose))
	}
}

// describeReply tells how a wait ended.
func describeReply(e orchestrator.Event, reply *orchestrator.Reply, verbose bool) note {
	switch {
	case reply == nil:
		return note{dim, place(e) + "waits no more"}
	case reply.Approve:
		return note{good, place(e) + "approved"}
	case reply.Text != "":
		return note{plain, place(e) + "answered: " + brief(reply.Text, textColumns, verbose)}
	default:
		return note{warn, place(e) + "refused" + colon(brief(reply.Reason, textColumns, verbose))}
	}
}

// brief is a text on one line, with nothing hidden but its end, unless everything is shown.
func brief(s string, columns int, verbose bool) string {
	if s = visible(s); verbose {
		return s
	}
	return head(s, columns)
}

// waitPlace is where a run waits: frame and step.
func waitPlace(w orchestrator.Wait) string {
	return place(orchestrator.Event{Frame: w.Frame, Seq: w.Seq})
}

// numbered reports whether options are chosen by number. Where one is a number itself, that would
// mislead.
func numbered(options []string) bool {
	return len(options) > 0 && !slices.ContainsFunc(options, func(o string) bool {
		_, err := strconv.Atoi(strings.TrimSpace(o))
		return err == nil
	})
}
