package explore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Holds is what the command walk of a story writes if no law is broken.
const Holds = "every law holds"

// Story returns a script of strategytest.Stories that walks a path. Its expected output is that
// every law holds: the story of a violation fails until the strategy is mended, and then passes as
// it is. Only if the mended strategy decides otherwise on the way, the story says which reaction
// cannot happen any more: end the path before that reaction. Lines of about become a comment.
//
// The set of the stories must hold the strategy under [Options].Name, and the Strategies. All else
// of the world is in the script: what the commands of stories cannot say of it, and what the
// functions of the Options decided on this path, is in a line of JSON. A reaction of
// [Options].World is written as its answer, or as its record, without ids.
//
// The error says that something on the path has no JSON form.
func Story(factory func() strategy.Strategy, o Options, path []string, about string) (string, error) {
	return script(factory, o, path, about, false)
}

// Witness returns a script of strategytest.Stories as [Story] does, which also says what the run
// asks for after each reaction. It passes.
func Witness(factory func() strategy.Strategy, o Options, path []string, about string) (string, error) {
	return script(factory, o, path, about, true)
}

func script(factory func() strategy.Strategy, o Options, path []string, about string, steps bool) (string, error) {
	heard := hear(&o)
	x := newExploration(factory, o)
	find := named(path)
	var lines, shown []string
	t := x.along(len(path), func(x *exploration, i int) (pick, error) {
		p, err := find(x, i)
		if err != nil {
			return p, err
		}
		line, err := x.writtenAs(path[i], p)
		lines = append(lines, line)
		shown = append(shown, line)
		return p, err
	}, func(s *State) bool {
		shown = append(shown, "  "+strings.ReplaceAll(s.String(), "\n", "\n  "))
		return false
	})
	if t.err != nil {
		return "", t.err
	}
	var b strings.Builder
	for line := range strings.Lines(about) {
		b.WriteString(strings.TrimSpace("# "+line) + "\n")
	}
	b.WriteString("\n")
	writeWorld(&b, &o)
	b.WriteString("walk " + o.name())
	if len(o.Children) > 0 {
		fmt.Fprintf(&b, " children=(%s)", strings.Join(o.Children, ", "))
	}
	b.WriteString(flags([]flag{{fmt.Sprintf("caps=%d", o.Caps), o.Caps > 0}, {"steps", steps}}) + "\n")
	if err := writeTask(&b, &o, heard.rest(&o)); err != nil {
		return "", err
	}
	if lines = append(lines, "----"); steps {
		lines = append(lines, shown...)
	}
	b.WriteString(strings.Join(append(lines, Holds), "\n") + "\n")
	return b.String(), nil
}

// name returns the name of the strategy in stories.
func (o *Options) name() string {
	if o.Name == "" {
		return Subject
	}
	return o.Name
}

// writtenAs returns a reaction of a path as every world can read it.
func (x *exploration) writtenAs(name string, p pick) (string, error) {
	e := x.run.effectOf(p.choice)
	if e == nil || p.choice.reaction == whole || !p.reaction.own {
		return name, nil
	}
	text, err := write(p.reaction, e)
	return "#" + e.ID.String() + " " + text, err
}

// writeWorld writes the commands that make the world of a walk.
func writeWorld(b *strings.Builder, o *Options) {
	for i := range o.Tools {
		def := &o.Tools[i]
		if a := o.Agents[def.Name]; a != nil {
			fmt.Fprintf(b, "agent %s %s%s\n----\n\n", def.Name, a.Strategy, agentFlags(def, a))
			continue
		}
		fmt.Fprintf(b, "tool %s%s\n----\n\n", def.Name, toolFlags(def))
	}
	if flags := limitFlags(&o.Limits); flags != "" {
		fmt.Fprintf(b, "limits%s\n----\n\n", flags)
	}
}

func toolFlags(d *tools.Definition) string {
	return flags([]flag{
		{"read-only", d.ReadOnly},
		{"repeatable", d.Repeatable},
		{"idempotent", d.Idempotent},
		{"sequential", d.Sequential},
		{"needs-approval", d.NeedsApproval},
		{"untrusted", d.Untrusted},
	})
}

// flag is a flag of a command.
type flag struct {
	text string
	set  bool
}

// flags returns the flags that are set, each after a blank.
func flags(all []flag) string {
	var b strings.Builder
	for _, f := range all {
		if f.set {
			b.WriteString(" " + f.text)
		}
	}
	return b.String()
}

func agentFlags(d *tools.Definition, a *machine.Agent) string {
	return flags([]flag{{"fan-out", several(d)}}) + limitFlags(&a.Limits)
}

// limitFlags returns the limits that the commands of stories know.
func limitFlags(l *delegation.Limits) string {
	limit := func(name string, n int64) flag { return flag{name + "=" + strconv.FormatInt(n, 10), n != 0} }
	return flags([]flag{
		limit("depth", int64(l.Depth)), limit("steps", int64(l.Steps)), limit("model_calls", int64(l.ModelCalls)),
		limit("tool_calls", int64(l.ToolCalls)), limit("total_tokens", l.TotalTokens),
	})
}

// String describes what the run asks for: for each open effect its frame, its state, and the tools
// that it names or offers; at the end how the run ended.
func (s *State) String() string {
	if s.Done() {
		text := string(s.Status())
		if err := s.Output().Err; err != nil {
			text += ": " + string(err.Code)
		}
		return text
	}
	states := map[string]string{}
	for _, f := range s.Frames() {
		states[f.Name] = "frame " + f.Name
		if name := s.run.nameOf(f.Strategy); f.Depth > 1 {
			states[f.Name] += " of " + name
		}
		if f.State != "" {
			states[f.Name] += " in " + string(f.State)
		}
	}
	var lines []string
	for _, e := range s.Open() {
		lines = append(lines, states[e.Frame]+": "+asks(&e))
	}
	return strings.Join(lines, "\n")
}
