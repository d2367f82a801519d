package chatline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTurns joins lines to turns.
func TestTurns(t *testing.T) {
	for name, tt := range map[string]struct {
		lines []string
		want  string
	}{
		"a line":                 {[]string{" one "}, "one"},
		"two lines":              {[]string{`one\`, "two"}, "one\ntwo"},
		"three lines":            {[]string{`one\`, `\`, "three"}, "one\n\nthree"},
		"a block":                {[]string{`"""`, "one", `two\`, "", `three`, `"""`}, "one\ntwo\\\n\nthree"},
		"a block in one line":    {[]string{`"""one"""`}, "one"},
		"a block with its text":  {[]string{`"""one`, `two"""`}, "one\ntwo"},
		"quotes inside":          {[]string{`say """ aloud`}, `say """ aloud`},
		"an empty line":          {[]string{""}, ""},
		"a backslash in between": {[]string{`a\b`}, `a\b`},
	} {
		t.Run(name, func(t *testing.T) {
			typed := ""
			for i, line := range tt.lines {
				begun, goesOn := GoesOn(typed + line)
				require.Equal(t, i < len(tt.lines)-1, goesOn, "after %q", line)
				typed = begun + "\n"
			}
			require.Equal(t, tt.want, Text(typed))
		})
	}
}
