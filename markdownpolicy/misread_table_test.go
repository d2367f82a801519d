package markdownpolicy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

// policyColumns are the columns of the table: the policies that there were when these ways were
// found.
var policyColumns = append(slices.DeleteFunc(markdownpolicy.Names(), func(name string) bool {
	return slices.Contains([]string{"minimax", "gemma4", "deepseekv32"}, name)
}), "think", "chain")

// misreadTable is the table of classes and policies in docs/internal/markdown-corpus.md.
func misreadTable() string {
	var b strings.Builder
	b.WriteString(misreadHead)
	b.WriteString("| class | " + strings.Join(policyColumns, " | ") + " |\n|---" + strings.Repeat("|---", len(policyColumns)) + "|\n")
	for _, m := range misreadings {
		b.WriteString("| " + m.title + " |")
		for _, column := range policyColumns {
			n := 0
			for _, c := range m.cases {
				if name, _, _ := strings.Cut(c.policy, "/"); name == column {
					n++
				}
			}
			switch {
			case n > 0:
				fmt.Fprintf(&b, " %d |", n)
			default:
				fmt.Fprintf(&b, " %s |", m.none[column])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Each class says of each policy how it reads such replies, or why there are none.
func TestMisreadingsAreShownForEachPolicy(t *testing.T) {
	for _, m := range misreadings {
		seen := map[string]bool{}
		for _, c := range m.cases {
			name, _, _ := strings.Cut(c.policy, "/")
			seen[name] = true
		}
		for _, column := range policyColumns {
			_, none := m.none[column]
			require.NotEqual(t, seen[column], none, "%s in %s", m.name, column)
		}
	}
}

const misreadHead = `
## Ways in which replies were misread

These ways to write a call or a thought were found in texts from the tests of other projects' parsers, and were once misread.
The table says for each policy how many replies a test reads (` + "`misread_test.go`" + `), whole and in pieces, or why the way does
not occur in it. A call without its marks counts only if the tool is known. Memory is measured by ` + "`memory_test.go`" + `.

`

// The memory for nested brackets is measured in every policy.
func init() {
	memory := misreading{name: "memory", title: "much memory for brackets nested 20,000 deep", none: map[string]string{}}
	for _, column := range policyColumns {
		memory.none[column] = "measured"
	}
	misreadings = append(misreadings, memory)
}
