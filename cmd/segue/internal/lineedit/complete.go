package lineedit

import (
	"strings"
	"unicode/utf8"

	"github.com/reeflective/readline"
)

// complete returns what the word before the cursor may become.
func (e *Editor) complete(typed []rune, cursor int) readline.Completions {
	before := string(typed[:cursor])
	words := e.cfg.Complete(before)
	word := before[strings.LastIndexAny(before, " \n")+1:]
	if plainTail(word) == word {
		return offered(words, "")
	}
	return e.completeBeyond(word, words)
}

// completeBeyond completes a word with letters beyond ASCII. The library would count their bytes as
// letters, and cut too much from the line. So it is given only what follows the last such letter,
// and what all the words begin with is inserted before that.
func (e *Editor) completeBeyond(word string, words []Word) readline.Completions {
	var texts []string
	for _, w := range words {
		texts = append(texts, w.Text)
	}
	shared := sharedStart(texts)
	if !strings.HasPrefix(shared, word) { // there is none
		return readline.Completions{}
	}
	added := shared[len(word):]
	if plainTail(shared) == "" && len(words) == 1 && !words[0].Goes {
		added += " "
	}
	e.shell.Cursor().InsertAt([]rune(added)...)
	tail := plainTail(shared)
	switch {
	case tail != "":
		all := offered(words, strings.TrimSuffix(shared, tail))
		all.PREFIX = tail
		return all
	case len(words) == 1:
		return readline.Completions{}
	default:
		return readline.CompleteMessage("%s", strings.Join(texts, "  "))
	}
}

// offered returns words for the library, without what they begin with.
func offered(words []Word, begin string) readline.Completions {
	list := make([]readline.Completion, len(words))
	for i, w := range words {
		list[i] = readline.Completion{Value: w.Text[len(begin):] + " ", Display: w.Text, Description: w.About}
		if w.Goes {
			list[i].Value = w.Text[len(begin):]
		}
	}
	return readline.CompleteRaw(list).NoSpace(' ')
}

// plainTail returns what follows the last letter beyond ASCII.
func plainTail(s string) string {
	at := strings.LastIndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
	if at < 0 {
		return s
	}
	_, size := utf8.DecodeRuneInString(s[at:])
	return s[at+size:]
}

// sharedStart returns what all texts begin with; "" if there are no texts.
func sharedStart(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	shared := texts[0]
	for _, text := range texts[1:] {
		for !strings.HasPrefix(text, shared) {
			_, size := utf8.DecodeLastRuneInString(shared)
			shared = shared[:len(shared)-size]
		}
	}
	return shared
}
