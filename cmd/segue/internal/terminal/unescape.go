package terminal

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// escapes are letters beyond ASCII that JSON holds as escapes, as many servers write them, with the
// backslashes before them: after an odd number of these it is no escape.
var escapes = regexp.MustCompile(`\\*(?:\\u[0-9A-Fa-f]{4})+`)

// unescaped returns a JSON text with the letters that its escapes stand for, for people to read.
// Other escapes stay, such as that of a line break or of a mark that is not seen.
func unescaped(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(all string) string {
		before := 0
		for all[before] == '\\' {
			before++
		}
		if before%2 == 0 {
			return all // a backslash, and then u
		}
		var letters string
		if json.Unmarshal([]byte(`"`+all[before-1:]+`"`), &letters) != nil {
			return all
		}
		for _, r := range letters {
			if r < 0x80 || !strconv.IsPrint(r) || r == '\ufffd' {
				return all
			}
		}
		return all[:before-1] + letters
	})
}
