package markdownpolicy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

// Whatever a long text holds, it is read soon, in one piece or in many.
func TestLeftCalls_longTexts(t *testing.T) {
	for _, line := range []string{monday + "\n", "{\"name\": \"Ada\"}\n", "{\"name\"\n", "```json\n{\"name\": 1}\n```\n", "```\n", "<tool_call>\n", "now(\n", "[[[[{\n", "text\n", "`\n", "<tool_call>x</tool_call>\n"} {
		text := strings.Repeat(line, 4000)
		began := time.Now()
		l := markdownpolicy.NewLeftCalls(leftTools)
		for i := 0; i < len(text); i += 16 {
			l.Held(text[:i])
		}
		l.Read(text)
		require.Less(t, time.Since(began), 20*time.Second, "%q", line)
	}
}
