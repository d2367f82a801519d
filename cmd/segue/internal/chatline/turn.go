// Package chatline reads what is said in a chat: turns of one line or more, and the lines that were
// typed in chats before.
package chatline

import "strings"

// block begins and ends a turn of several lines.
const block = `"""`

// GoesOn reports whether a turn goes on with another line, and returns what it says before that: it
// ends with a backslash, which gives way to the line break, or a block that """ began has no end
// yet.
func GoesOn(typed string) (string, bool) {
	if inside, ok := strings.CutPrefix(strings.TrimSpace(typed), block); ok {
		return typed, !strings.HasSuffix(inside, block)
	}
	return strings.CutSuffix(typed, `\`)
}

// Text returns what a turn says: without the marks of a block.
func Text(typed string) string {
	typed = strings.TrimSpace(typed)
	if inside, ok := strings.CutPrefix(typed, block); ok {
		return strings.TrimSpace(strings.TrimSuffix(inside, block))
	}
	return typed
}
