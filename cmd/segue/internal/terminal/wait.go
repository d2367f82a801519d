package terminal

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// UntrustedWarning is the warning in questions after a run has read text from outside.
const UntrustedWarning = "  Careful: the run has read text from outside, which may have led to this."

// DescribeQuestion shows a question and its options. agent is the name of the one that asks; "" if
// it has none.
func DescribeQuestion(w machine.Wait, agent string) []Line {
	asker := "the model"
	if w.Tool != "" && w.Tool != tools.AskUserName {
		asker = plaintext.Visible(w.Tool)
	}
	lines := append([]Line{{Bold, WaitPlace(w, agent) + asker + " asks"}}, Block("  ", w.Text)...)
	for i, o := range w.Options {
		bullet := "-"
		if Numbered(w.Options) {
			bullet = strconv.Itoa(i+1) + "."
		}
		lines = append(lines, Line{Plain, "  " + bullet + " " + plaintext.Visible(o)})
	}
	return append(lines, LineIf(w.Untrusted, Line{Warn, UntrustedWarning})...)
}

// DescribeUnknown shows a call that may have had its effect. agent is the name of the one that
// called; "" if it has none.
func DescribeUnknown(w machine.Wait, agent string) []Line {
	lines := []Line{{Bold, WaitPlace(w, agent) + plaintext.Visible(w.Tool) + " was cut off, and may have had its effect"}}
	return append(append(lines, Block("  ", w.Text)...), DescribeArguments(w.Arguments)...)
}

// DescribeArguments shows an object member by member, in order, and any other text unchanged.
func DescribeArguments(arguments string) []Line {
	members, ok := MembersOf(arguments)
	if !ok {
		return Block("  ", arguments)
	}
	var lines []Line
	for _, m := range members {
		name := "  " + m.shown() + ":"
		var s string
		switch err := json.Unmarshal(m.Value, &s); {
		case err != nil || m.Value[0] != '"':
			lines = append(lines, Line{Plain, name + " " + plaintext.Visible(string(m.Value))})
		case strings.Contains(s, "\n"):
			lines = append(append(lines, Line{Plain, name}), Block("    ", s)...)
		default:
			lines = append(lines, Line{Plain, name + " " + strconv.Quote(s)})
		}
	}
	return lines
}

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// shown returns the name, in quotes if it could be mistaken for something else.
func (m Member) shown() string {
	odd := func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if m.Name == "" || strings.ContainsFunc(m.Name, odd) {
		return strconv.Quote(m.Name)
	}
	return m.Name
}

// MembersOf returns the members of a JSON object, duplicate names included; false if text is not an
// object.
func MembersOf(text string) (members []Member, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		m := Member{Name: name.(string)} // the decoder accepts only strings as names
		if err := d.Decode(&m.Value); err != nil {
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

// Block shows a text line by line, with a bar before each line, so that no line can be mistaken for
// something else.
func Block(indent, s string) []Line {
	var lines []Line
	for line := range strings.SplitSeq(s, "\n") {
		lines = append(lines, Line{Plain, indent + "| " + plaintext.Visible(line)})
	}
	return lines
}

// DescribeWait describes a wait in one line.
func DescribeWait(w machine.Wait, verbose bool) string {
	begin := WaitPlace(w, "") + "waits for "
	switch w.Kind {
	case machine.WaitApproval:
		line := begin + "approval: " + plaintext.Visible(w.Tool) + " " + brief(w.Arguments, toolColumns, verbose)
		if why := approvalNote(w); why != "" {
			line += " (" + brief(why, TextColumns, verbose) + ")"
		}
		return line
	case machine.WaitUnknown:
		return begin + "what is known of a call that was cut off: " + plaintext.Visible(w.Tool) + " " + brief(w.Arguments, toolColumns, verbose)
	case machine.WaitQuestion:
		text := brief(w.Text, TextColumns, verbose)
		if len(w.Options) > 0 {
			text += " (" + brief(strings.Join(w.Options, " / "), TextColumns, verbose) + ")"
		}
		return begin + "an answer: " + text
	default:
		return begin + plaintext.OneLine(w.Kind) + plaintext.Colon(brief(w.Text, TextColumns, verbose))
	}
}

// approvalNote returns why a person must look at each call of a tool, which stands in the question
// after the name of the tool; "" if nothing does.
func approvalNote(w machine.Wait) string {
	_, note, _ := strings.Cut(w.Text, "May "+w.Tool+" be called? ")
	return strings.TrimSpace(note)
}

// describeReply describes how a wait ended.
func describeReply(e happening, reply *machine.Reply, verbose bool) Line {
	switch {
	case reply == nil:
		return Line{Dim, place(e) + "waits no more"}
	case reply.Arguments != "":
		return Line{Good, place(e) + "approved with other arguments: " + arguments(reply.Arguments, verbose)}
	case reply.Approve:
		return Line{Good, place(e) + "approved"}
	case reply.Text != "":
		return Line{Plain, place(e) + "answered: " + brief(reply.Text, TextColumns, verbose)}
	default:
		return Line{Warn, place(e) + "refused" + plaintext.Colon(brief(reply.Reason, TextColumns, verbose))}
	}
}

// brief returns a text on one line, cut at the end unless everything is shown.
func brief(s string, columns int, verbose bool) string {
	if s = plaintext.Visible(s); verbose {
		return s
	}
	return plaintext.Head(s, columns)
}

// WaitPlace returns the agent, the frame and the step of a wait. The agent may be "".
func WaitPlace(w machine.Wait, agent string) string {
	return place(happening{machine.Event{Frame: w.Frame, Seq: w.Seq}, agent})
}

// Numbered reports whether options are numbered. They are not if an option is itself a number.
func Numbered(options []string) bool {
	return len(options) > 0 && !slices.ContainsFunc(options, func(o string) bool {
		_, err := strconv.Atoi(strings.TrimSpace(o))
		return err == nil
	})
}
