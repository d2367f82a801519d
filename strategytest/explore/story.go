package explore

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
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

// The prefixes of reactions that a path holds as JSON, because this package does not make them.
const (
	asAnswer = "answer {" // the answer of an Answered that holds nothing else
	asRecord = "record {" // any other record
)

// cutWritten splits a reaction that is written in JSON from the id of its effect.
func cutWritten(line string) (id, text string, ok bool) {
	id, text, _ = strings.Cut(line, " ")
	return id, text, strings.HasPrefix(text, asAnswer) || strings.HasPrefix(text, asRecord)
}

// write returns a reaction to an effect as JSON, without the fields that follow from the effect.
func write(r *Reaction, e *machine.Effect) (string, error) {
	rec := r.Record(e)
	bare := without(rec)
	same, err := equal(rec, filled(bare, e))
	if err != nil {
		return "", err
	}
	if !same { // it is about another effect
		bare = rec
	}
	if a, ok := bare.(machine.Answered); ok && a.Answer != nil {
		only := machine.Answered{Answer: a.Answer}
		if same, err = equal(bare, only); err == nil && same {
			text, err := nextstep.AppendAnswer([]byte("answer "), a.Answer)
			return string(text), err
		}
	}
	text, err := machine.AppendRecord([]byte("record "), bare)
	return string(text), err
}

// equal reports whether two records have the same JSON form.
func equal(a, b machine.Record) (bool, error) {
	x, err := machine.AppendRecord(nil, a)
	y, err2 := machine.AppendRecord(nil, b)
	return bytes.Equal(x, y), cmp.Or(err, err2)
}

// readReaction reads a reaction from its JSON.
func readReaction(text string) (*Reaction, error) {
	kind, data, _ := strings.Cut(text, " ")
	var rec machine.Record
	var err error
	if kind == "answer" {
		var a nextstep.Answer
		a, err = nextstep.ReadAnswer([]byte(data))
		rec = machine.Answered{Answer: a}
	} else {
		rec, err = machine.ReadRecord([]byte(data))
	}
	if err != nil {
		return nil, fmt.Errorf("explore: the reaction %q: %w", text, err)
	}
	return &Reaction{Name: text, Record: func(e *machine.Effect) machine.Record { return filled(rec, e) }}, nil
}

// without returns a record without the fields that follow from its effect.
func without(rec machine.Record) machine.Record {
	switch r := rec.(type) {
	case machine.Answered:
		r.Effect, r.Frame, r.Kind, r.Tool, r.Digest = machine.EffectID{}, "", "", "", ""
		if result, ok := r.Answer.(nextstep.ToolResult); ok {
			result.Output.CallID, result.Output.ToolName = "", ""
			r.Answer = result
		}
		return r
	case machine.Suspended:
		r.Effect, r.Waits = machine.EffectID{}, slices.Clone(r.Waits)
		for i := range r.Waits {
			r.Waits[i] = waitWithout(r.Waits[i])
		}
		return r
	case machine.Asked:
		r.Effect, r.Wait = machine.EffectID{}, waitWithout(r.Wait)
		return r
	case machine.Replied:
		r.Reply.WaitID = ""
		return r
	default:
		return rec
	}
}

func waitWithout(w machine.Wait) machine.Wait {
	w.ID, w.Run, w.Frame, w.Seq, w.CallID, w.Tool, w.Arguments = "", "", "", 0, "", "", ""
	return w
}

// filled fills in the fields that follow from the effect, where a record lacks them.
func filled(rec machine.Record, e *machine.Effect) machine.Record {
	switch r := rec.(type) {
	case machine.Answered:
		r.Effect, r.Frame, r.Kind = cmp.Or(r.Effect, e.ID), cmp.Or(r.Frame, e.Frame), cmp.Or(r.Kind, e.Kind)
		r.Tool, r.Digest = cmp.Or(r.Tool, e.Call.Name), cmp.Or(r.Digest, e.Digest)
		switch a := r.Answer.(type) {
		case nextstep.ToolResult:
			out := &a.Output
			out.CallID, out.ToolName = cmp.Or(out.CallID, e.Call.ID), cmp.Or(out.ToolName, e.Call.Name)
			r.Answer = a
		case nextstep.APIResponse:
			r.Answer = identified(a)
		}
		return r
	case machine.Suspended:
		r.Effect, r.Waits = cmp.Or(r.Effect, e.ID), slices.Clone(r.Waits)
		for i := range r.Waits {
			r.Waits[i] = filledWait(r.Waits[i], e)
		}
		return r
	case machine.Asked:
		r.Effect, r.Wait = cmp.Or(r.Effect, e.ID), filledWait(r.Wait, e)
		return r
	case machine.Replied:
		if e.Wait != nil {
			r.Reply.WaitID = cmp.Or(r.Reply.WaitID, e.Wait.ID)
		}
		return r
	default:
		return rec
	}
}

// identified gives ids to the calls of a reply that have none.
func identified(a nextstep.APIResponse) nextstep.APIResponse {
	lacks := func(part messages.AssistantContent) bool {
		c, ok := part.(messages.ToolCall)
		return ok && c.ID == ""
	}
	if a.Response == nil || !slices.ContainsFunc(a.Response.Message.Content, lacks) {
		return a
	}
	made := *a.Response
	made.Message.Content = slices.Clone(made.Message.Content)
	for i, part := range made.Message.Content {
		if c, ok := part.(messages.ToolCall); ok && c.ID == "" {
			c.ID = "call" + strconv.Itoa(i)
			made.Message.Content[i] = c
		}
	}
	a.Response = &made
	return a
}

// filledWait fills in a wait that has no id.
func filledWait(w machine.Wait, e *machine.Effect) machine.Wait {
	if w.ID != "" {
		return w
	}
	w.Run, w.Frame, w.Seq = cmp.Or(w.Run, e.Run), cmp.Or(w.Frame, e.Frame), cmp.Or(w.Seq, e.ID.Seq)
	w.CallID, w.Tool, w.Arguments = cmp.Or(w.CallID, e.Call.ID), cmp.Or(w.Tool, e.Call.Name), cmp.Or(w.Arguments, e.Call.Arguments)
	return w.Identified(e.ID)
}
