package attachment

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// PathsIn returns the paths in a line that somebody typed, or dropped onto a terminal: words
// between blanks. Quotes of either kind, and a backslash before a blank or a quote, keep a path
// with blanks together. A line that is the name of a file as it stands is one path.
func PathsIn(line string) []string {
	if _, err := os.Stat(InHome(line)); !errors.Is(err, fs.ErrNotExist) {
		return []string{line}
	}
	var paths []string
	var path strings.Builder
	quote, begun := rune(0), false
	letters := []rune(line)
	for i := 0; i < len(letters); i++ {
		r := letters[i]
		switch {
		case quote == 0 && (r == ' ' || r == '\t'):
			if begun {
				paths = append(paths, path.String())
			}
			path.Reset()
			begun = false
			continue
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && closes(letters[i+1:], r):
			quote = r
		case r == '\\' && quote != '\'' && i+1 < len(letters) && strings.ContainsRune(" \"'", letters[i+1]):
			i++
			path.WriteRune(letters[i])
		default:
			path.WriteRune(r)
		}
		begun = true
	}
	if begun {
		paths = append(paths, path.String())
	}
	return paths
}

// closes reports whether a quote is closed. If not it is a part of a name, such as ann's.txt.
func closes(rest []rune, quote rune) bool { return strings.ContainsRune(string(rest), quote) }
