package search

import (
	"iter"
	"unicode"
)

// longest is the most runes of a word that are read.
const longest = 64

// wordsOf yields the words of a text, in small letters. Names are split where their parts begin, as
// in "read_file", "readFile" and "HTTPServer". Scripts without blanks between words are split into
// pairs of letters.
func wordsOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		runes := []rune(text)
		for i := 0; i < len(runes); {
			end := i + 1
			switch {
			case !inWord(runes[i]):
			case unspaced(runes[i]):
				for end < len(runes) && unspaced(runes[end]) {
					end++
				}
				if !pairs(runes[i:end], yield) {
					return
				}
			default:
				for end < len(runes) && inWord(runes[end]) && !unspaced(runes[end]) && !begins(runes, end) {
					end++
				}
				if !yield(small(runes[i:min(end, i+longest)])) {
					return
				}
			}
			i = end
		}
	}
}

// pairs yields each two letters that stand together, or the only one.
func pairs(runes []rune, yield func(string) bool) bool {
	if len(runes) == 1 {
		return yield(string(runes))
	}
	for i := range len(runes) - 1 {
		if !yield(string(runes[i : i+2])) {
			return false
		}
	}
	return true
}

// begins reports whether a part of a name begins at the index, after a letter of the same word.
func begins(runes []rune, at int) bool {
	if !unicode.IsUpper(runes[at]) {
		return false
	}
	return !unicode.IsUpper(runes[at-1]) || at+1 < len(runes) && unicode.IsLower(runes[at+1])
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }

// unspaced reports whether a letter is of a script in which no blanks are between words, or whose
// words take on other words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func small(runes []rune) string {
	word := make([]rune, len(runes))
	for i, r := range runes {
		word[i] = unicode.ToLower(r)
	}
	return string(word)
}

// shortest returns how many letters a beginning must have to be compared with other words.
func shortest(word string) int {
	for _, r := range word {
		if unspaced(r) {
			return 1
		}
	}
	return 3
}
