package lineedit

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// forget ends the search, and what completion offers.
func (e *Editor) forget() { e.search, e.words, e.below = false, nil, nil }

// recall shows a text of the past, or the new one after them.
func (e *Editor) recall(line int) {
	switch {
	case line < 0 || line > len(e.past):
		return
	case e.line == len(e.past):
		e.draft = e.text()
	}
	if e.line = line; line == len(e.past) {
		e.set(e.draft)
		return
	}
	e.set(e.past[line])
}

// begin begins to look for what is typed in the past.
func (e *Editor) begin() {
	e.recall(len(e.past)) // the draft
	e.draft = e.text()
	e.search, e.query = true, ""
	e.below = []string{"search: "}
}

// seek looks for what is typed, the newest first; false if the key ends the search.
func (e *Editor) seek(k tea.KeyPressMsg) bool {
	from := min(e.line, len(e.past)-1)
	switch name := k.String(); {
	case name == "ctrl+r":
		from = e.line - 1
	case name == "backspace":
		_, size := utf8.DecodeLastRuneInString(e.query)
		e.query = e.query[:len(e.query)-size]
		from = len(e.past) - 1
	case name == "ctrl+g" || name == "esc":
		e.recall(len(e.past))
		e.forget()
		return true
	case k.Text != "":
		e.query += k.Text
	default:
		return false
	}
	e.below = []string{"search: " + e.query + " (not found)"}
	for ; from >= 0; from-- {
		if strings.Contains(e.past[from], e.query) {
			e.below = []string{"search: " + e.query}
			e.recall(from)
			break
		}
	}
	return true
}

// complete completes the word before the cursor as far as it is clear, and then offers the words
// that it may become, one after another.
func (e *Editor) complete() {
	if e.cfg.Complete == nil {
		return
	}
	if len(e.words) > 0 {
		e.chosen = (e.chosen + 1) % len(e.words)
		e.become(e.words[e.chosen].Text)
		return
	}
	e.forget()
	words := e.cfg.Complete(e.before())
	switch len(words) {
	case 0:
	case 1:
		if !words[0].Goes {
			words[0].Text += " "
		}
		e.become(words[0].Text)
	default:
		e.words, e.chosen = words, -1
		e.become(sharedStart(words))
		columns, _ := e.at.Size()
		e.below = offered(words, columns-1)
	}
}

// become puts a text in the place of the word before the cursor.
func (e *Editor) become(text string) {
	before := e.before()
	for range utf8.RuneCountInString(before[strings.LastIndexAny(before, " \n")+1:]) {
		e.area, _ = e.area.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	e.insert(text)
}

// before returns the text before the cursor.
func (e *Editor) before() string {
	lines := strings.Split(e.text(), "\n")[:e.area.Line()+1]
	last := &lines[len(lines)-1]
	*last = string([]rune(*last)[:e.area.Column()])
	return strings.Join(lines, "\n")
}

// offered returns rows with words: one for each if they are explained.
func offered(words []Word, columns int) []string {
	var rows, names []string
	wide, explained := 0, false
	for _, w := range words {
		names = append(names, w.Text)
		wide, explained = max(wide, plaintext.CellsOf(w.Text)), explained || w.About != ""
	}
	if explained {
		for _, w := range words {
			padding := strings.Repeat(" ", wide-plaintext.CellsOf(w.Text))
			rows = append(rows, w.Text+padding+"  "+w.About)
		}
	} else {
		all, at := strings.Join(names, "  "), 0
		for _, end := range plaintext.Breaks(all, columns, true) {
			rows = append(rows, strings.TrimRight(all[at:end], " "))
			at = end
		}
	}
	return rows
}

// sharedStart returns what all words begin with.
func sharedStart(words []Word) string {
	shared := words[0].Text
	for _, w := range words[1:] {
		for !strings.HasPrefix(w.Text, shared) {
			_, size := utf8.DecodeLastRuneInString(shared)
			shared = shared[:len(shared)-size]
		}
	}
	return shared
}
