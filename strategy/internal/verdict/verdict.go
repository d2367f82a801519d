// Package verdict reads what a judge says of a draft or a plan.
package verdict

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/segue-go/segue/delegation"
)

// Critique is a judgement.
type Critique struct {
	Approved bool   `json:"approved"`
	Feedback string `json:"feedback"` // what has to change; for a critique in words, its whole text
}

// Of reads the output of a judge: its data or, without any, its text.
func Of(out delegation.Output) Critique { return Read(cmp.Or(string(out.Data), out.Text())) }

// Read reads a critique, in JSON or in words, as reflection.Approved says.
func Read(text string) Critique {
	if c, ok := readJSON(text); ok {
		return c
	}
	return Critique{Approved: approves(text), Feedback: strings.TrimSpace(text)}
}

// readJSON reads a critique that is an object with one boolean "approved".
func readJSON(text string) (Critique, bool) {
	var fields map[string]json.RawMessage // unlike a struct, it distinguishes "approved" from "APPROVED"
	var c Critique
	text = unfenced(text)
	if json.Unmarshal([]byte(text), &fields) != nil || strings.Count(text, `"approved"`) > 1 {
		return c, false
	}
	switch string(fields["approved"]) {
	case "true":
		c.Approved = true
	case "false":
	default:
		return c, false
	}
	feedback := fields["feedback"]
	if json.Unmarshal(feedback, &c.Feedback) != nil {
		c.Feedback = string(feedback) // probably a list
	}
	return c, true
}

// unfenced removes a fenced code block around JSON.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if inside, ok := strings.CutPrefix(text, "```"); ok {
		if _, inside, ok = strings.Cut(strings.TrimSuffix(inside, "```"), "\n"); ok {
			return inside
		}
	}
	return text
}

// emphasis and marks may surround a word without changing its meaning; a question mark, a
// strike-through and an empty checkbox do change it.
const (
	emphasis = "*_`\"'“”‘’"
	marks    = emphasis + " \t\r#>-=.!:✅✓✔\ufe0f👍🎉"
)

// approves reads a critique in words.
func approves(text string) bool {
	lines := strings.Split(text, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "```") })
	lines = strings.Split(strings.TrimSpace(strings.Join(lines, "\n")), "\n")
	if tail, ok := verdict(lines[0]); ok {
		after := sentences(tail + "\n" + strings.Join(lines[1:], "\n"))
		return !slices.ContainsFunc(after, contrary) && !slices.ContainsFunc(after, reserved)
	}
	before, last := lines[:len(lines)-1], lines[len(lines)-1]
	if tail, ok := verdict(last); !ok || tail != "" || !closed(before) {
		return false
	}
	said := sentences(strings.Join(before, "\n"))
	return !slices.ContainsFunc(said, contrary) && !slices.ContainsFunc(said, conditional)
}

// verdict reports whether a line, or its first sentence, says that the draft is approved, and
// returns the rest of the line.
func verdict(line string) (tail string, ok bool) {
	const word = "approved"
	line = strings.Trim(line, marks)
	if before, after, found := strings.Cut(line, ":"); found && label(before) {
		line = strings.TrimLeft(after, marks)
	}
	if inside, found := strings.CutPrefix(line, "["); found {
		line = strings.TrimSuffix(inside, "]")
	}
	if len(line) < len(word) || !strings.EqualFold(line[:len(word)], word) {
		return "", false
	}
	tail = strings.TrimLeft(line[len(word):], emphasis)
	if tail != "" && strings.ContainsAny(tail[:1], ".!") {
		tail = strings.TrimLeft(tail[1:], emphasis)
		return tail, strings.HasPrefix(tail, " ")
	}
	return tail, tail == ""
}

// label reports whether a line, or the text before a colon, announces a verdict.
func label(text string) bool {
	words := wordsOf(text)
	if len(words) == 0 || len(words) > 2 {
		return false
	}
	switch words[len(words)-1] {
	case "verdict", "decision", "judgement", "judgment", "status", "result", "conclusion", "assessment", "recommendation":
		return !negation(words[0])
	default:
		return false
	}
}

// closed reports whether the text before the last line is complete, so that the last line is a
// sentence of its own.
func closed(before []string) bool {
	blank := false
	for _, line := range slices.Backward(before) {
		line = strings.TrimSpace(line)
		said := strings.TrimRight(line, emphasis)
		switch {
		case said == "":
			blank = true
		case label(line), strings.HasSuffix(said, "."), strings.HasSuffix(said, "!"):
			return true
		case strings.HasSuffix(said, ":"), strings.HasSuffix(said, ","):
			return false
		default: // the end of a list, or a heading
			return blank && (strings.ContainsAny(line[:1], "-*+#") || unicode.IsDigit(rune(line[0])))
		}
	}
	return true
}

// sentences returns the words of each sentence.
func sentences(text string) [][]string {
	var list [][]string
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".!?;\n", r) }) {
		if words := wordsOf(s); len(words) > 0 {
			list = append(list, words)
		}
	}
	return list
}

func wordsOf(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
}

func negation(word string) bool {
	return slices.Contains([]string{"no", "not", "never", "cannot"}, word) || strings.HasSuffix(word, "n't")
}

// contrary reports whether a sentence says that the draft is not approved.
func contrary(sentence []string) bool {
	negated := false
	for _, w := range sentence {
		negated = negated || negation(w)
		switch w {
		case "disapproved", "unapproved", "rejected":
			return true
		case "approved":
			if negated {
				return true
			}
		}
	}
	return false
}

// conditional reports whether a sentence begins with a condition.
func conditional(sentence []string) bool {
	return slices.Contains([]string{"if", "once", "unless", "until", "provided"}, sentence[0])
}

// reserved reports whether a sentence after a verdict limits it.
func reserved(sentence []string) bool {
	openings := []string{"not", "only", "with", "subject", "after", "when", "though", "although"}
	anywhere := []string{"but", "however", "except", "unless", "provided", "pending", "once", "until"}
	return conditional(sentence) || slices.Contains(openings, sentence[0]) ||
		len(sentence) == 1 && negation(sentence[0]) ||
		slices.ContainsFunc(sentence, func(w string) bool { return slices.Contains(anywhere, w) })
}
