package machine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// frame is one strategy at work: its place in the tree, what it may use, and what it was told and
// asked so far. Each frame that lives either is parked, until its effects are answered; or sleeps,
// below a child; or has a task to be done.
type frame struct {
	name   string // position in the delegation tree
	depth  int    // the root's is 1
	up     *frame // that delegated to it, or whose call it answers; nil: it is the root
	branch *branch
	trunk  branch  // of the root
	call   *effect // that the frame's output answers, of the first frame of a branch; nil: up delegated to it
	place  int     // among the branches of the call
	seq    int     // the number of its last step

	strategy string // its name in the Set
	st       strategy.Strategy
	stater   strategy.Stater // st, if it is one
	state    strategy.State  // as last told

	input   delegation.Input
	request messages.History   // of the last request; nil before the first
	answers []frameAnswer      // since then
	unseen  []messages.Message // what the strategy was not told of the answers
	laws    messages.Validator // of its requests
	allowed []tools.Definition // of the run's tools
	offered []tools.Definition // in its last request
	own     []tools.Tool       // brought by the strategy
	ownDefs []tools.Definition
	agents  []*Agent // what they are, if they are agents

	parked   parking
	effect   effect
	batch    batch
	limits   amounts
	used     usage
	began    time.Duration // how long the run had worked when the frame began
	children int
	ending   *ending // nil: it may go on
	digester *digester
	context  Share
}

// parking says what a frame waits for.
type parking uint8

const (
	onNothing parking = iota
	onEffect
	onBatch
)

// frameAnswer is what a frame was answered to a step.
type frameAnswer struct {
	reply   *llmclient.Response
	results []messages.ToolOutput
	partial messages.Assistant
}

// batch is the calls of a step.
type batch struct {
	calls   []effect // in their order, refused ones included
	results []messages.ToolOutput
	made    []messages.ToolCall // the calls as they were made; nil if that is as they were asked for
	elapsed time.Duration

	unanswered int  // calls without a result
	next       int  // calls[next:] have to wait for those before them
	running    int  // of those before, how many have no result
	alone      bool // one of them does not run beside others
	starting   bool // calls are being started, or none is to be
	cut        bool // the end of a frame has cut one off
}

// effects yields the effects that the frame waits for.
func (f *frame) effects() iter.Seq[*effect] {
	return func(yield func(*effect) bool) {
		if f.parked == onEffect {
			yield(&f.effect)
			return
		}
		for i := range f.batch.calls {
			if f.parked != onBatch || !yield(&f.batch.calls[i]) {
				return
			}
		}
	}
}

// newFrame returns a frame that is empty.
func (m *Machine) newFrame() *frame {
	if n := len(m.spare); n > 0 {
		f := m.spare[n-1]
		m.spare[n-1], m.spare = nil, m.spare[:n-1]
		return f
	}
	return new(frame)
}

// recycle keeps a frame that has ended for another one.
func (m *Machine) recycle(f *frame) {
	clear(f.answers)
	clear(f.batch.calls[:cap(f.batch.calls)])
	answers, calls := f.answers[:0], f.batch.calls[:0]
	*f = frame{answers: answers}
	f.batch.calls = calls
	const most = 16
	if len(m.spare) < most && cap(calls) <= most {
		m.spare = append(m.spare, f)
	}
}

// park has a frame wait for its effects.
func (m *Machine) park(f *frame, on parking) {
	if m.parked == nil {
		m.parked = map[int]*frame{}
	}
	f.parked, m.parked[f.seq] = on, f
}

// unpark ends the wait of a frame.
func (m *Machine) unpark(f *frame) {
	f.parked = onNothing
	delete(m.parked, f.seq)
}

// frames returns the frames that are parked, in the order of their steps.
func (m *Machine) frames() []*frame {
	return slices.SortedFunc(maps.Values(m.parked), func(a, b *frame) int { return cmp.Compare(a.seq, b.seq) })
}

// newChild returns a frame for the strategy of that name, placed below up in the same branch, with
// those of the tools of up that are named; nil names mean all.
func (m *Machine) newChild(up *frame, name string, in delegation.Input, limits delegation.Limits, names []string) (*frame, error) {
	f := m.newFrame()
	if err := m.build(f, name); err != nil {
		m.recycle(f)
		return nil, err
	}
	up.children++
	f.name, f.depth, f.up, f.seq, f.branch = up.name+"."+strconv.Itoa(up.children), up.depth+1, up, up.seq, up.branch
	f.input, f.context = in, shareOf(up, in)
	f.limits, f.allowed, f.began = amountsOf(limits).or(noLimits), narrow(up.allowed, names), m.active
	return f, nil
}

// messages returns the conversation so far: the last request and what was answered since. What was
// left open in it is for the caller to repair.
func (f *frame) messages() messages.History {
	h := f.request
	if h == nil {
		h = f.input.Messages
		if f.input.Goal != "" {
			h = append(h.Clip(), messages.UserText(f.input.Goal))
		}
	}
	h = h.Clip()
	for i := range f.answers {
		h = append(h, f.answers[i].messages()...)
	}
	return h
}

// length is the length of the conversation so far, at a cost that does not depend on it.
func (f *frame) length() int {
	n := len(f.request)
	for i := range f.answers {
		n += len(f.answers[i].messages())
	}
	return n
}

// messages returns the messages that an answer adds to a conversation.
func (a *frameAnswer) messages() []messages.Message {
	switch {
	case a.reply != nil:
		return []messages.Message{a.reply.Message}
	case a.results != nil:
		return toolMessages(a.results)
	case !a.partial.Empty():
		return []messages.Message{a.partial}
	default:
		return nil
	}
}

// addAnswer keeps what a frame was answered. The strategy is not told of it if unseen says so.
func (f *frame) addAnswer(a frameAnswer, unseen bool) {
	f.answers = append(f.answers, a)
	if unseen {
		f.unseen = append(f.unseen, a.messages()...)
	}
}

// holdsUntrusted reports whether there is text from outside in a conversation.
func holdsUntrusted(h messages.History) bool {
	return slices.ContainsFunc(h, func(m messages.Message) bool {
		tool, ok := m.(messages.Tool)
		return ok && tool.Untrusted
	})
}

func toolMessages(outputs []messages.ToolOutput) []messages.Message {
	msgs := make([]messages.Message, len(outputs))
	for i, o := range outputs {
		msgs[i] = messages.Tool{ToolOutput: o}
	}
	return msgs
}

// tool returns the definition of a tool that the frame may call: one that its last request offered
// and that its allow-list holds, or one that its strategy brought, with its place among those; nil
// if it may not.
func (f *frame) tool(name string) (def *tools.Definition, own int) {
	for i := range f.ownDefs {
		if f.ownDefs[i].Name == name {
			return &f.ownDefs[i], i
		}
	}
	if lookup(f.offered, name) == nil {
		return nil, -1
	}
	return lookup(f.allowed, name), -1
}

func lookup(defs []tools.Definition, name string) *tools.Definition {
	for i := range defs {
		if defs[i].Name == name {
			return &defs[i]
		}
	}
	return nil
}

// ReasonNotOffered is the reason of a result whose call its frame may not make.
const ReasonNotOffered = "not_offered"

// refusal says to a model that there is no such tool, and which there are.
func (f *frame) refusal(name string) string {
	var offered []string
	for _, d := range f.offered {
		if def, _ := f.tool(d.Name); def != nil {
			offered = append(offered, d.Name)
		}
	}
	if len(offered) == 0 {
		return fmt.Sprintf("there is no tool %q here; no tools can be called", name)
	}
	return fmt.Sprintf("there is no tool %q here; the tools are: %s", name, strings.Join(offered, ", "))
}

// withUnseen adds what an end cut off to the messages that a strategy gives itself; it was not told
// of that.
func (f *frame) withUnseen(out delegation.Output) delegation.Output {
	if out.Messages != nil && len(f.unseen) > 0 {
		out.Messages = append(out.Messages.Clip(), f.unseen...)
	}
	return out
}

// output completes what a strategy left with what only the Machine knows.
func (f *frame) output(out delegation.Output) delegation.Output {
	if len(out.Data) > 0 && !json.Valid(out.Data) {
		out.Data = nil
		if out.Err == nil {
			out.Err = &delegation.Error{Code: delegation.CodeInvalid, Message: "machine: the data of the output is not JSON"}
		}
	}
	for name, value := range out.Metadata {
		if json.Valid(value) {
			continue
		}
		out.Metadata = maps.Clone(out.Metadata)
		maps.DeleteFunc(out.Metadata, func(_ string, v json.RawMessage) bool { return !json.Valid(v) })
		if out.Err == nil {
			out.Err = &delegation.Error{Code: delegation.CodeInvalid, Message: fmt.Sprintf("machine: the metadata %.64q of the output is not JSON", name)}
		}
		break
	}
	if out.Messages == nil {
		out.Messages = f.messages()
	}
	out.Messages, _ = out.Messages.Repair()
	out.Messages = out.Messages.Clip()
	out.Begin = f.begin(out.Messages)
	out.Usage, out.Counts, out.Elapsed, out.Untrusted = f.used.tokens, f.used.Counts, f.used.elapsed, f.branch.untrusted
	out.Cost, out.Unpriced = f.used.cost, f.used.unpriced
	return out
}

// begin returns where the turn of the frame begins in its conversation: after the messages of its
// input, and a system prompt before them. It is 0 if the last of them is not found at its place.
func (f *frame) begin(h messages.History) int {
	given, _ := f.input.Messages.Repair()
	n := len(given)
	if n == 0 || len(h) == 0 {
		return 0
	}
	if h[0].Role() == messages.RoleSystem && given[0].Role() != messages.RoleSystem {
		n++
	}
	if n > len(h) || !reflect.DeepEqual(h[n-1], given.Last()) {
		return 0
	}
	return n
}

// arrived returns the text of a reply that was cut off; nil if there is none.
func (f *frame) arrived() *string {
	if len(f.answers) == 0 {
		return nil
	}
	text := f.answers[len(f.answers)-1].partial.Text()
	if text == "" {
		return nil
	}
	return &text
}

// soFar is the output of a run that goes on: the conversation of its root, in which calls that have
// no result yet are said to wait.
func (m *Machine) soFar() delegation.Output {
	root := *m.root
	root.answers = slices.Clip(root.answers)
	if root.parked == onBatch {
		results := slices.Clone(root.batch.results)
		for i := range root.batch.calls {
			if e := &root.batch.calls[i]; e.state != ended {
				results[i] = m.callOutput(e, messages.StatusFailed, tools.ReasonSuspended, "this call waits for somebody")
			}
		}
		root.addAnswer(frameAnswer{results: results}, false)
	}
	return root.output(delegation.Output{})
}
