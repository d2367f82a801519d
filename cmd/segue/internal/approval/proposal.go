package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/segue-go/segue/orchestrator"
)

// proposal is a tool call as it is shown to whoever is to approve it: the whole of it, since what
// is not seen is not approved.
type proposal struct {
	tool    string
	path    string // of the file that it is about; "" if it is about none
	heading note   // stands above each page
	about   []note // below the first heading
	content []note
	always  *grant // what "always" allows; nil if nothing
}

// propose returns how a call is shown. It reads the file that is to be replaced, if there is one.
func propose(f *workFolder, w orchestrator.Wait) proposal {
	p := proposal{tool: visible(w.Tool), content: showArguments(w.Arguments)}
	if g, ok := f.grantOf(w.Tool, w.Arguments); ok {
		p.always = &g
	}
	if t, ok := f.targetOf(w.Tool, w.Arguments); ok {
		p.path = shownPath(t.name)
		if t.real != "" && t.real != t.name {
			p.about = append(p.about, note{warn, "  it leads to " + shownPath(t.real)})
		}
		if content, ok := contentToWrite(w.Arguments); ok && w.Tool == writeFile {
			var change note
			change, p.content = describeChange(f, t, content)
			p.about = append(p.about, change)
		}
	}
	if why := f.asked(w.Tool, w.Arguments); why != "" {
		p.about = append(p.about, note{warn, "  Protected: " + string(why) + ". You are asked each time."})
	}
	p.about = append(p.about, when(w.Untrusted, note{warn, fromOutside})...)
	p.heading = note{bold, waitPlace(w) + join(" ", p.tool, p.path) + " needs your approval"}
	return p
}

// shownPath is a path, in quotes if it could be taken for more than that.
func shownPath(name string) string {
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || r == '"' || r == '\\' || !strconv.IsPrint(r) || r == unicode.ReplacementChar
	}
	if strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// contentToWrite returns what write_file is to write; false if the arguments say anything besides.
func contentToWrite(arguments string) (string, bool) {
	members, ok := membersOf(arguments)
	if !ok || len(members) != 2 {
		return "", false
	}
	said := map[string]string{}
	for _, m := range members {
		var s string
		if m.value[0] != '"' || json.Unmarshal(m.value, &s) != nil {
			return "", false
		}
		said[m.name] = s
	}
	_, path := said["path"]
	content, ok := said["content"]
	return content, ok && path
}

// describeChange says what write_file changes, and shows the difference, or the whole content where there
// is nothing to compare it with.
func describeChange(f *workFolder, t target, content string) (about note, shown []note) {
	whole := block("  ", content)
	old, what, err := f.existing(t)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return note{plain, "  a new file of " + sizeOf(content)}, whole
	case err != nil:
		return note{warn, "  replaces what cannot be read with " + sizeOf(content)}, whole
	case what != "":
		return note{warn, "  replaces " + what + " with " + sizeOf(content)}, whole
	case old == content:
		return note{plain, "  replaces " + sizeOf(old) + " with the same"}, whole
	case len(content) > maxCompared:
		return note{warn, "  replaces " + sizeOf(old) + " with " + sizeOf(content) + ", too much to compare"}, whole
	default:
		return note{plain, "  replaces " + sizeOf(old) + " with " + sizeOf(content)}, difference(old, content)
	}
}

// sizeOf tells how large a text is.
func sizeOf(s string) string {
	lines := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		lines++
	}
	return counted(len(s), "byte") + " (" + counted(lines, "line") + ")"
}

// wideEnough is how many columns a terminal has whose prompts take one row. Others take two.
const wideEnough = 72

// prompt asks for a decision in one line for a terminal of so many columns: the path is shortened
// in its middle if need be, so that nothing scrolls it away.
func (p proposal) prompt(columns int) string {
	choices, scope := ": y yes, n no", ""
	if p.always != nil {
		choices += ", a always "
		switch p.always.folder {
		case "":
			choices += "in this run"
		default:
			choices += "below "
			scope = shownPath(p.always.folder + "/")
		}
	}
	const end = " > "
	if columns < wideEnough {
		columns *= 2
	}
	room := columns - 1 - cellsOf(p.tool+" "+choices+end)
	scope = middle(scope, max(room/2, room-cellsOf(p.path)))
	return join(" ", p.tool, middle(p.path, room-cellsOf(scope))) + choices + scope + end
}

// hint says how the prompt can be answered.
func (p proposal) hint(more bool) string {
	words := []string{"y", "n"}
	if p.always != nil {
		words = append(words, "a")
	}
	if more {
		words = append(words, "m")
	}
	last := len(words) - 1
	return fmt.Sprintf("Answer %s or %s. Ctrl-C stops the run.", strings.Join(words[:last], ", "), words[last])
}
