// Package fenced puts a text into a prompt so that a model sees where it begins and ends.
package fenced

import "strings"

// shortest is the shortest fence of Markdown.
const shortest = 3

// Text returns the text as a fenced block of Markdown, without a newline at the end. The fence is
// longer than each row of backticks in the text, so that the text cannot close it.
func Text(text string) string {
	row, longest := 0, 0
	for _, r := range text {
		if r == '`' {
			row++
			longest = max(longest, row)
		} else {
			row = 0
		}
	}
	fence := strings.Repeat("`", max(shortest, longest+1))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + "\n" + text + fence
}
