package strategytest

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategytest/explore"
)

// walk walks the path that is the input of the command.
func (s *story) walk(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if len(d.CmdArgs) == 0 {
		d.Fatalf(t, "usage: walk STRATEGY [children=(STRATEGY, …)] [caps=N] [steps]")
	}
	root := d.CmdArgs[0].Key
	o := s.world(root)
	steps := false
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "steps":
			steps = true
		case "children":
			o.Children = arg.Vals
		case "caps":
			arg.Scan(t, 0, &o.Caps)
		default:
			d.Fatalf(t, "a walk has no flag %q", arg.Key)
		}
	}
	for _, child := range o.Children {
		delete(o.Strategies, child)
	}
	path, err := explore.ReadPath(d.Input, &o)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	factory := s.set[root]
	if factory == nil {
		d.Fatalf(t, "the set has no strategy %q", root)
	}
	var text lines
	at := 0
	err = explore.Walk(factory, o, path, func(now *explore.State) {
		if !steps {
			return
		}
		if at > 0 {
			text.line(0, "%s", path[at-1])
		}
		text.each(1, now.String())
		at++
	})
	text.each(0, walked(err))
	return text.text.String()
}

// world returns the world of a walk, as the commands before it made it.
func (s *story) world(root string) explore.Options {
	o := explore.Options{
		Name: root, Strategies: maps.Clone(needed(s.set, root, s.tools)), Limits: s.limits, Agents: map[string]*machine.Agent{},
	}
	for _, tool := range s.tools {
		def := tool.Definition()
		o.Tools = append(o.Tools, def)
		if a := machine.AgentOf(tool); a != nil {
			o.Agents[def.Name] = a
		}
	}
	return o
}

// walked describes how a walk went.
func walked(err error) string {
	if err == nil {
		return explore.Holds
	}
	if v, ok := errors.AsType[*explore.Violation](err); ok {
		return fmt.Sprintf("broken after %d reactions: %s\n%s", len(v.Path), v.Law, v.Problem)
	}
	return err.Error()
}

// each writes each line of a text that is not blank, indented by depth.
func (l *lines) each(depth int, text string) {
	for line := range strings.Lines(text) {
		l.line(depth, "%s", strings.TrimRight(line, "\r\n"))
	}
}
