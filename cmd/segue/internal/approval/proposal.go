package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools/filetools"
)

// proposal shows a tool call to the user who approves it. It shows the whole call, because users
// must not approve what they cannot see.
type proposal struct {
	tool    string
	path    string          // path of the file of the call; "" if there is none
	heading terminal.Line   // first line of each page
	about   []terminal.Line // below the heading of the first page
	content []terminal.Line
	always  *workfolder.Grant // what "always" allows; nil if nothing
}

// propose makes the proposal for a call of an agent, whose name may be "". It reads the file that
// the call replaces, if there is one.
func propose(f *workfolder.Folder, w machine.Wait, agent string) proposal {
	p := proposal{tool: plaintext.Visible(w.Tool), content: terminal.DescribeArguments(w.Arguments)}
	if g, ok := f.GrantOf(w.Tool, w.Arguments); ok {
		p.always = &g
	}
	if t, ok := f.TargetOf(w.Tool, w.Arguments); ok {
		p.path = shownPath(t.Name)
		if t.Real != "" && t.Real != t.Name {
			p.about = append(p.about, terminal.Warn.Line("  it leads to "+shownPath(t.Real)))
		}
		var change terminal.Line
		if arguments, ok := textsIn(w.Arguments, "path", "content"); ok && w.Tool == workfolder.WriteFile {
			change, p.content = describeChange(f, t, arguments["content"])
			p.about = append(p.about, change)
		}
		if arguments, ok := textsIn(w.Arguments, "path", "old", "new"); ok && w.Tool == workfolder.EditFile {
			change, p.content = describeEdit(f, t, arguments["old"], arguments["new"])
			p.about = append(p.about, change)
		}
	}
	if why := f.Protection(w.Tool, w.Arguments); why != "" {
		p.about = append(p.about, terminal.Warn.Line("  Protected: "+string(why)+". You are asked each time."))
	}
	p.about = append(p.about, terminal.LineIf(w.Untrusted, terminal.Warn.Line(terminal.UntrustedWarning))...)
	p.heading = terminal.Bold.Line(terminal.WaitPlace(w, agent) + plaintext.Join(" ", p.tool, p.path) + " needs your approval")
	return p
}

// shownPath returns a path, in quotes if it could be mistaken for something else.
func shownPath(name string) string {
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || r == '"' || r == '\\' || !strconv.IsPrint(r) || r == unicode.ReplacementChar
	}
	if strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// textsIn returns the arguments of a call by their names; false if they are not texts with exactly
// these names.
func textsIn(arguments string, names ...string) (map[string]string, bool) {
	members, ok := terminal.MembersOf(arguments)
	if !ok || len(members) != len(names) {
		return nil, false
	}
	texts := map[string]string{}
	for _, m := range members {
		var s string
		if !slices.Contains(names, m.Name) || m.Value[0] != '"' || json.Unmarshal(m.Value, &s) != nil {
			return nil, false
		}
		texts[m.Name] = s
	}
	return texts, len(texts) == len(names)
}

// describeEdit describes the change by edit_file: the difference that it makes or, if the call will
// fail, both texts and the reason.
func describeEdit(f *workfolder.Folder, t workfolder.Target, old, new string) (about terminal.Line, shown []terminal.Line) {
	shown = slices.Concat([]terminal.Line{terminal.Plain.Line("  old:")}, terminal.Block("  ", old), []terminal.Line{terminal.Plain.Line("  new:")}, terminal.Block("  ", new))
	content, what, err := f.Existing(t)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return terminal.Warn.Line("  changes a file that does not exist, which fails"), shown
	case err != nil:
		return terminal.Warn.Line("  changes what cannot be read"), shown
	case what != "":
		return terminal.Warn.Line("  changes " + what), shown
	}
	edited, err := filetools.Edit(content, old, new)
	switch {
	case err != nil:
		return terminal.Warn.Line("  will fail: " + strings.TrimPrefix(err.Error(), "filetools: ")), shown
	case edited == content:
		return terminal.Plain.Line("  changes nothing: the file has the new text already"), shown
	default:
		return terminal.Plain.Line("  changes a part of " + sizeOf(content)), terminal.Difference(content, edited)
	}
}

// describeChange describes the change by write_file. It shows the difference, or the whole content
// if it cannot be compared.
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
	}
	content = filetools.Replace(old, content)
	switch {
	case old == content:
		return terminal.Plain.Line("  replaces " + sizeOf(old) + " with the same"), whole
	case len(content) > workfolder.MaxCompared:
		return terminal.Warn.Line("  replaces " + sizeOf(old) + " with " + sizeOf(content) + ", too much to compare"), whole
	default:
		return terminal.Plain.Line("  replaces " + sizeOf(old) + " with " + sizeOf(content)), terminal.Difference(old, content)
	}
}

// sizeOf describes the size of a text.
func sizeOf(s string) string {
	lines := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		lines++
	}
	return plaintext.Counted(len(s), "byte") + " (" + plaintext.Counted(lines, "line") + ")"
}

// wideEnough is the minimum of columns for prompts of one row. On narrower terminals they take two
// rows.
const wideEnough = 80

// prompt returns the question in one line, for a terminal of so many columns. It shortens the path
// in the middle if necessary, so that the path stays visible.
func (p proposal) prompt(columns int) string {
	choices, scope := ": y\u00a0yes, n\u00a0no, e\u00a0edit", "" // the key stays with its word
	if p.always != nil {
		choices += ", a\u00a0always "
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
		columns = 2*columns - 6 // between words
	}
	room := columns - 1 - plaintext.CellsOf(p.tool+" "+choices+end)
	scope = plaintext.Middle(scope, max(room/2, room-plaintext.CellsOf(p.path)))
	return plaintext.Join(" ", p.tool, plaintext.Middle(p.path, room-plaintext.CellsOf(scope))) + choices + scope + end
}

// hint says how the prompt can be answered.
func (p proposal) hint(more bool) string {
	words := []string{"y", "n", "e"}
	if p.always != nil {
		words = append(words, "a")
	}
	if more {
		words = append(words, "m")
	}
	last := len(words) - 1
	return fmt.Sprintf("Answer %s or %s. Ctrl-C stops the run.", strings.Join(words[:last], ", "), words[last])
}
