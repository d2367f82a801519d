package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/orchestrator"
)

// proposal is a tool call as it is shown to whoever is to approve it: the whole of it, since what
// is not seen is not approved.
type proposal struct {
	tool    string
	path    string          // of the file that it is about; "" if it is about none
	heading terminal.Line   // stands above each page
	about   []terminal.Line // below the first heading
	content []terminal.Line
	always  *workfolder.Grant // what "always" allows; nil if nothing
}

// propose returns how a call is shown. It reads the file that is to be replaced, if there is one.
func propose(f *workfolder.Folder, w orchestrator.Wait) proposal {
	p := proposal{tool: plaintext.Visible(w.Tool), content: terminal.DescribeArguments(w.Arguments)}
	if g, ok := f.GrantOf(w.Tool, w.Arguments); ok {
		p.always = &g
	}
	if t, ok := f.TargetOf(w.Tool, w.Arguments); ok {
		p.path = shownPath(t.Name)
		if t.Real != "" && t.Real != t.Name {
			p.about = append(p.about, terminal.Warn.Line("  it leads to "+shownPath(t.Real)))
		}
		if content, ok := contentToWrite(w.Arguments); ok && w.Tool == workfolder.WriteFile {
			var change terminal.Line
			change, p.content = describeChange(f, t, content)
			p.about = append(p.about, change)
		}
	}
	if why := f.Protection(w.Tool, w.Arguments); why != "" {
		p.about = append(p.about, terminal.Warn.Line("  Protected: "+string(why)+". You are asked each time."))
	}
	p.about = append(p.about, terminal.LineIf(w.Untrusted, terminal.Warn.Line(terminal.UntrustedWarning))...)
	p.heading = terminal.Bold.Line(terminal.WaitPlace(w) + plaintext.Join(" ", p.tool, p.path) + " needs your approval")
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
	members, ok := terminal.MembersOf(arguments)
	if !ok || len(members) != 2 {
		return "", false
	}
	said := map[string]string{}
	for _, m := range members {
		var s string
		if m.Value[0] != '"' || json.Unmarshal(m.Value, &s) != nil {
			return "", false
		}
		said[m.Name] = s
	}
	_, path := said["path"]
	content, ok := said["content"]
	return content, ok && path
}

// describeChange says what write_file changes, and shows the difference, or the whole content where
// there is nothing to compare it with.
func describeChange(f *workfolder.Folder, t workfolder.Target, content string) (about terminal.Line, shown []terminal.Line) {
	whole := terminal.Block("  ", content)
	old, what, err := f.Existing(t)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return terminal.Plain.Line("  a new file of " + sizeOf(content)), whole
	case err != nil:
		return terminal.Warn.Line("  replaces what cannot be read with " + sizeOf(content)), whole
	case what != "":
		return terminal.Warn.Line("  replaces " + what + " with " + sizeOf(content)), whole
	case old == content:
		return terminal.Plain.Line("  replaces " + sizeOf(old) + " with the same"), whole
	case len(content) > workfolder.MaxCompared:
		return terminal.Warn.Line("  replaces " + sizeOf(old) + " with " + sizeOf(content) + ", too much to compare"), whole
	default:
		return terminal.Plain.Line("  replaces " + sizeOf(old) + " with " + sizeOf(content)), terminal.Difference(old, content)
	}
}

// sizeOf tells how large a text is.
func sizeOf(s string) string {
	lines := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		lines++
	}
	return plaintext.Counted(len(s), "byte") + " (" + plaintext.Counted(lines, "line") + ")"
}

// wideEnough is how many columns a terminal has whose prompts take one row. Others take two.
const wideEnough = 72

// prompt asks for a decision in one line for a terminal of so many columns: the path is shortened
// in its middle if need be, so that nothing scrolls it away.
func (p proposal) prompt(columns int) string {
	choices, scope := ": y yes, n no", ""
	if p.always != nil {
		choices += ", a always "
		switch p.always.Folder {
		case "":
			choices += "in this run"
		default:
			choices += "below "
			scope = shownPath(p.always.Folder + "/")
		}
	}
	const end = " > "
	if columns < wideEnough {
		columns *= 2
	}
	room := columns - 1 - plaintext.CellsOf(p.tool+" "+choices+end)
	scope = plaintext.Middle(scope, max(room/2, room-plaintext.CellsOf(p.path)))
	return plaintext.Join(" ", p.tool, plaintext.Middle(p.path, room-plaintext.CellsOf(scope))) + choices + scope + end
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
