package markdownpolicy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

// Whatever a long text holds, twice as much of it takes at most some twice as many steps, in
// however many pieces it comes.
func TestLeftCalls_longTexts(t *testing.T) {
	if !counts(t) {
		return
	}
	for _, line := range []string{monday + "\n", "{\"name\": \"Ada\"}\n", "{\"name\"\n", "```json\n{\"name\": 1}\n```\n", "```\n", "<tool_call>\n", "now(\n", "[[[[{\n", "text\n", "`\n", "<tool_call>x</tool_call>\n"} {
		read := func(times int) int {
			text := strings.Repeat(line, times)
			return steps(func() {
				l := markdownpolicy.NewLeftCalls(leftTools)
				for i := 0; i < len(text); i += 16 {
					l.Held(text[:i])
				}
				l.Read(text)
			})
		}
		once, twice := read(300), read(600)
		require.Less(t, twice, 3*once, "%q", line)
	}
}
