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
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// frame is one running strategy: its position in the tree, what it may use, and its requests and
// answers so far. Each live frame is in one of three conditions: parked until its effects are
// answered, sleeping until its child ends, or with a task to be done.
type frame struct {
	name   string // position in the delegation tree
	depth  int    // the root has 1
	up     *frame // the frame that delegated to it, or whose call it answers; nil: it is the root
	branch *branch
	trunk  branch  // the branch of the root
	call   *effect // the call that the output answers, for the first frame of a branch; nil: up delegated to it
	place  int     // number among the branches of the call
	seq    int     // the number of its last step

	strategy string // its name in the Set
	after    string // the strategy whose place it has taken; ""
	st       strategy.Strategy
	tabler   strategy.Tabler // st, if it is one
	state    strategy.State  // as in its last event
	moves    int             // of its FSM, as in its last event

	input   delegation.Input
	request messages.History   // messages of the last request; nil before the first
	answers []frameAnswer      // answers since then
	aside   messages.Assistant // the reply of a request aside, until a step is taken
	replied map[string]bool    // ids of the calls of replies, while a step is taken; nil: not looked up
	unseen  []messages.Message // messages of answers that the strategy did not see
	laws    messages.Validator // checks its requests
	allowed []tools.Definition // the tools of the run that it may use
	offered []tools.Definition // the tools offered in its last request
	own     []tools.Tool       // the strategy's own tools
	ownDefs []tools.Definition
	agents  []*Agent // the agents among its own tools

	parked   parking
	effect   effect
	batch    batch
	limits   amounts
	used     usage
	began    time.Duration // active time of the run when the frame began
	children int
	heard    int        // the notes up to this number are not for it, or were heard
	ending   *ending    // nil: the frame may continue
	made     []madeCall // the last calls of its model
	told     bool       // a limit of tool calls, its own or one above it, was told to it or to a frame below it
	digester *digester
	context  Share
	model    string // for its requests that set none; "": that of the run
}

// parking says what a frame waits for.
type parking uint8

const (
	onNothing parking = iota
	onEffect
	onBatch
)

// frameAnswer is the answer to a step of a frame.
type frameAnswer struct {
	reply   *llmclient.Response
	results []messages.ToolOutput
	partial messages.Assistant
}

// batch holds the calls of one step.
type batch struct {
	calls   []effect // in order, refused ones included
	results []messages.ToolOutput
	made    []messages.ToolCall // the calls as they were made; nil if they were made as requested
	elapsed time.Duration

	unanswered int  // number of calls without a result
	next       int  // calls[next:] have to wait for earlier calls
	running    int  // number of earlier calls without a result
	alone      bool // one of them must not run in parallel
	starting   bool // calls are being started, or no more may be
	cut        bool // a call was cut off by the end of a frame
}

// effects yields the effects for which the frame waits.
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

// newFrame returns an empty frame.
func (m *Machine) newFrame() *frame {
	if n := len(m.spare); n > 0 {
		f := m.spare[n-1]
		m.spare[n-1], m.spare = nil, m.spare[:n-1]
		return f
	}
	return new(frame)
}

// recycle keeps an ended frame for reuse.
func (m *Machine) recycle(f *frame) {
	clear(f.answers)
	clear(f.batch.calls[:cap(f.batch.calls)])
	clear(f.made)
	answers, calls, made := f.answers[:0], f.batch.calls[:0], f.made[:0]
	*f = frame{answers: answers, made: made}
	f.batch.calls = calls
	const most = 16
	if len(m.spare) < most && cap(calls) <= most {
		m.spare = append(m.spare, f)
	}
}

// park makes a frame wait for its effects.
func (m *Machine) park(f *frame, on parking) {
	i, _ := m.parkedAt(f.seq)
	f.parked, m.parked = on, slices.Insert(m.parked, i, f)
}

// unpark ends the wait of a frame.
func (m *Machine) unpark(f *frame) {
	f.parked = onNothing
	if i, found := m.parkedAt(f.seq); found {
		m.parked = slices.Delete(m.parked, i, i+1)
	}
}

// parkedAt returns the index of the parked frame with that step, and whether there is one.
func (m *Machine) parkedAt(seq int) (i int, found bool) {
	return slices.BinarySearchFunc(m.parked, seq, func(f *frame, seq int) int { return cmp.Compare(f.seq, seq) })
}

// frames returns the frames that are parked, in the order of their steps.
func (m *Machine) frames() []*frame { return slices.Clone(m.parked) }

// newChild returns a frame for the strategy of a delegation, below up and in the same branch. It
// may use the named tools of up; nil names mean all.
func (m *Machine) newChild(up *frame, d *nextstep.Delegate) (*frame, error) {
	f := m.newFrame()
	if err := m.build(f, d.Strategy); err != nil {
		m.recycle(f)
		return nil, err
	}
	up.children++
	f.name, f.depth, f.up, f.seq, f.branch = up.name+"."+strconv.Itoa(up.children), up.depth+1, up, up.seq, up.branch
	f.input, f.context, f.model = d.Input, shareOf(up, d.Input), cmp.Or(d.Model, up.model)
	f.limits, f.allowed, f.began, f.heard = amountsOf(d.Limits).or(noLimits), narrow(up.allowed, d.Tools), m.active, m.lastNote
	return f, nil
}

// messages returns the conversation so far: the last request and the answers since. The caller must
// repair open calls in it.
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

// length returns the length of the conversation so far, in constant time.
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

// addAnswer stores an answer of a frame. unseen says that the strategy does not see it.
func (f *frame) addAnswer(a frameAnswer, unseen bool) {
	f.answers = append(f.answers, a)
	if unseen {
		f.unseen = append(f.unseen, a.messages()...)
	}
}

// holdsUntrusted reports whether a conversation holds text from outside.
func holdsUntrusted(h messages.History) bool {
	return slices.ContainsFunc(h, func(m messages.Message) bool {
		switch m := m.(type) {
		case messages.Tool:
			return m.Untrusted
		case messages.User:
			return m.Untrusted
		default:
			return false
		}
	})
}

func toolMessages(outputs []messages.ToolOutput) []messages.Message {
	msgs := make([]messages.Message, len(outputs))
	for i, o := range outputs {
		msgs[i] = messages.Tool{ToolOutput: o}
	}
	return msgs
}

// tool returns the definition of a tool that the frame may call: a tool that its strategy brought,
// with its index among those, or an allowed tool. A call of a reply may only name a tool that the
// last request offered; an empty id stands for such a call. It returns nil if the frame may not
// call the tool.
func (f *frame) tool(name, id string) (def *tools.Definition, own int) {
	for i := range f.ownDefs {
		if f.ownDefs[i].Name == name {
			return &f.ownDefs[i], i
		}
	}
	if lookup(f.offered, name) == nil && f.ofReply(id) {
		return nil, -1
	}
	return lookup(f.allowed, name), -1
}

// ofReply reports whether the model made the call: in the last reply, which is the first answer
// after a request, or in the reply to a request aside. All other calls are the strategy's own.
func (f *frame) ofReply(id string) bool {
	if f.replied == nil {
		f.replied = map[string]bool{"": true}
		replies := []messages.Assistant{f.aside}
		if len(f.answers) > 0 {
			if first := &f.answers[0]; first.reply != nil {
				replies = append(replies, first.reply.Message)
			} else {
				replies = append(replies, first.partial)
			}
		}
		for i := range replies {
			for _, c := range replies[i].Calls() {
				f.replied[c.ID] = true
			}
		}
	}
	return f.replied[id]
}

// replying reports whether the last answer of the frame is a reply. Then its model asked for the
// calls that the frame makes, whatever ids they have.
func (f *frame) replying() bool { return len(f.answers) == 1 && f.answers[0].reply != nil }

func lookup(defs []tools.Definition, name string) *tools.Definition {
	for i := range defs {
		if defs[i].Name == name {
			return &defs[i]
		}
	}
	return nil
}

// ReasonNotOffered is the reason of a result of a call that the frame may not make.
const ReasonNotOffered = "not_offered"

// refusal returns the result of a call that the frame may not make. It lists the tools for a model,
// or says how a strategy gets the tool.
func (f *frame) refusal(c *messages.ToolCall) string {
	if !f.ofReply(c.ID) {
		return fmt.Sprintf("the strategy may not call the tool %q: give it to the run and to the delegation, or bring it as a strategy.ToolProvider", c.Name)
	}
	var offered []string
	for _, d := range f.offered {
		if def, _ := f.tool(d.Name, ""); def != nil {
			offered = append(offered, d.Name)
		}
	}
	if len(offered) == 0 {
		return fmt.Sprintf("there is no tool %q here; no tools can be called", c.Name)
	}
	return fmt.Sprintf("there is no tool %q here; the tools are: %s", c.Name, strings.Join(offered, ", "))
}

// withUnseen appends the interrupted messages that the strategy never saw to the messages of its
// own output.
func (f *frame) withUnseen(out delegation.Output) delegation.Output {
	if out.Messages != nil && len(f.unseen) > 0 {
		out.Messages = append(out.Messages.Clip(), f.unseen...)
	}
	return out
}

// output adds the fields that only the Machine knows to the output of a strategy.
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

// begin returns the index at which the turn of the frame begins in its conversation: after its
// system prompt and the messages of its input. It returns 0 if the last input message is not at the
// expected index.
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

// arrived returns the partial text of a reply that was cut off; nil if there is none.
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

// soFar returns the output of a run that has not ended: the conversation of its root, in which
// calls without a result are marked as waiting.
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

// reported converts the error of a ReportError to data. The error comes from the strategy, and its
// methods may panic.
func (m *Machine) reported(f *frame, err error) (e *delegation.Error) {
	defer func() {
		if v := recover(); v != nil {
			e = m.brokeDown(f, "the Error method of its error", v)
		}
	}()
	if _, ok := err.(*delegation.Error); !ok && err != nil { //nolint:errorlint // only this exact type is already data
		err = guard.New(err, err.Error())
	}
	if e = delegation.AsError(err); e == nil {
		e = &delegation.Error{Code: delegation.CodeDefect, Message: "machine: ReportError without an error"}
	}
	return e
}

// defect fails a frame whose strategy returned an invalid step.
func (m *Machine) defect(f *frame, method, problem string, cause error) nextstep.NextStep {
	code := delegation.CodeDefect
	if cause != nil {
		code = delegation.CodeInvalid
	}
	return nextstep.ReportError{Err: delegation.NewError(code,
		&StrategyError{Run: m.run, Frame: f.name, Strategy: f.strategy, Method: method, Problem: problem, Err: cause})}
}

// brokeDown returns the error of a frame whose strategy panicked.
func (m *Machine) brokeDown(f *frame, method string, v any) *delegation.Error {
	p := m.panicked(f, "the strategy "+f.strategy+" in "+method, v)
	return delegation.NewError(delegation.CodePanic, &StrategyError{
		Run: m.run, Frame: f.name, Strategy: f.strategy, Method: method, Problem: "failed", Err: p,
	})
}

// call calls a method of the frame's strategy, and turns a panic into an error.
func (m *Machine) call(f *frame, method string, fn func() nextstep.NextStep) (next nextstep.NextStep) {
	defer func() {
		if v := recover(); v != nil {
			next = nextstep.ReportError{Err: m.brokeDown(f, method, v)}
		}
	}()
	next = fn()
	m.reportState(f)
	if next == nil {
		return m.defect(f, method, "returned no step", nil)
	}
	return next
}

// readState notes the state of the frame's strategy without an event.
func (f *frame) readState() {
	if f.tabler != nil {
		fsm := f.tabler.FSM()
		f.state, f.moves = fsm.State(), fsm.Moves()
	}
}

// reportState emits an event if the FSM of the frame's strategy has moved, even to the same state.
func (m *Machine) reportState(f *frame) {
	from, before := f.state, f.moves
	f.readState()
	if f.state == from && f.moves == before || m.cfg.Quiet {
		return
	}
	changed := StateChanged{Strategy: f.strategy, From: from, To: f.state}
	if f.moves == before+1 { // of several moves none leads from the one state to the other
		changed.On = f.tabler.FSM().Trigger()
	}
	m.emit(f, EventStateChanged, m.change(changed))
}

// change boxes a detail. Strategies repeat their state changes, so the boxes of the first few are
// reused.
func (m *Machine) change(c StateChanged) Detail {
	for i, d := range m.changes {
		if d == nil {
			d = c
			m.changes[i] = d
		}
		if d == Detail(c) {
			return d
		}
	}
	return c
}

// Offers reports whether the model of a frame may call a tool now: the last request offered the
// tool, and the frame is allowed to call it, or its strategy brought it.
func (m *Machine) Offers(frame, tool string) bool {
	for _, f := range m.frames() {
		if f.name == frame {
			def, _ := f.tool(tool, "")
			return def != nil
		}
	}
	return false
}
