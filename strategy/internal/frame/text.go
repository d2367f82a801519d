package frame

import (
	"strings"

	"github.com/segue-go/segue/internal/textcut"
)

// Cut returns the beginning of a text, at most n bytes of whole characters, without surrounding
// blanks, and the mark on a new line. A text that fits, or any text if n is negative, is returned
// unchanged; then mark is not called.
func Cut(text string, n int, mark func() string) string {
	if n < 0 || len(text) <= n {
		return text
	}
	return strings.TrimSpace(text[:textcut.Before(text, n)]) + "\n" + mark()
}
