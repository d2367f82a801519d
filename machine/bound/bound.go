package bound

import (
	"cmp"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
)

// Unbounded as an amount means that nothing bounds it. So does everything from 2^40 on.
const Unbounded = -1

// Bound is how much a run uses at most.
type Bound struct {
	Strategy string `json:"strategy"` // with which the run begins

	ModelCalls Amount `json:"model_calls"`
	ToolCalls  Amount `json:"tool_calls"`
	Steps      Amount `json:"steps"`
	Depth      Amount `json:"depth"` // frames on top of each other that take a step

	InputTokens  Amount `json:"input_tokens"`
	OutputTokens Amount `json:"output_tokens"`
	TotalTokens  Amount `json:"total_tokens"`
	Cost         Amount `json:"cost"` // in millionths of a dollar, as in messages.Cost

	// Frames are the bounds of one frame of each strategy that the run may use, by its own table:
	// without limits, and without the frames that it starts. The strategy of the run is first, the
	// others are sorted by name.
	Frames []Frame `json:"frames"`
}

// Amount is how much of something is used at most, and why not more.
type Amount struct {
	Most int64 `json:"most"` // Unbounded: nothing bounds it

	// Above is the number of model calls that may be in progress when the limit is reached. Their
	// own tokens come on top of Most, and nothing bounds these. It is 0 for counts, which are never
	// exceeded, and if Options.Call says what a call may use.
	Above int `json:"above,omitempty"`

	By []Reason `json:"by,omitempty"` // what bounds it, together; nil if nothing does
}

// Reason is what bounds an amount: a limit, or the tables of the strategies.
type Reason struct {
	Limit string `json:"limit,omitempty"` // the limit by its JSON name, such as "model_calls"; "": the strategies, by their tables
	Of    string `json:"of,omitempty"`    // whose limit it is: the strategy of an agent or of a child; "": that of the run
}

// String returns the reason in words, such as "the limit model_calls".
func (r Reason) String() string {
	switch {
	case r.Limit == "":
		return "the strategies"
	case r.Of == "":
		return "the limit " + r.Limit
	default:
		return "the limit " + r.Limit + " of " + r.Of
	}
}

// Frame is what one frame of a strategy does at most, by its own table. Unbounded means that the
// table sets no bound.
type Frame struct {
	Strategy    string `json:"strategy"`
	Table       bool   `json:"table"` // whether it has a table; without one all numbers are Unbounded
	ModelCalls  int64  `json:"model_calls"`
	ToolCalls   int64  `json:"tool_calls"`
	Batches     int64  `json:"batches"` // steps that call tools
	Delegations int64  `json:"delegations"`
}

// Options say what no table and no limit knows.
type Options struct {
	// Call is what one model call uses at most. Input is the context that the model takes, Output
	// what a reply may have. Zero fields mean that it is not known: then only limits bound tokens.
	Call messages.Usage

	// Prices are those of the models that may be asked; the dearest counts. If there are none, only
	// a limit bounds the cost.
	Prices []llmclient.Price
}

// Of returns the bound of a run that begins with s. Zero fields of s are filled in as by
// [machine.Config.Start]: only its Strategy, Limits, Tools and Parallel matter. It makes a strategy
// of each name that the run may use, and changes nothing.
//
// The error says why the run could not begin: its strategy is unknown or cannot be used.
func Of(cfg *machine.Config, s machine.Started, o Options) (Bound, error) {
	s = cfg.Start(s)
	if _, _, err := cfg.Try(s.Strategy); err != nil {
		return Bound{}, &machine.ConfigError{Field: "Strategy", Err: err}
	}
	c := &calculation{cfg: cfg, parts: map[string]*part{}, known: map[string]*subtree{}, defs: s.Tools, handoffs: ceiling(s.Limits.Handoffs, 0)}
	begin := start{strategy: s.Strategy, limits: limitsOf(s.Limits), depth: ceiling(s.Limits.Depth, 0)}
	for _, d := range s.Tools {
		begin.tools = append(begin.tools, d.Name)
	}
	slices.Sort(begin.tools)
	root := c.subtree(begin)
	b := Bound{
		Strategy: s.Strategy, Frames: c.frames(s.Strategy),
		ModelCalls: root.amount(modelCalls), ToolCalls: root.amount(toolCalls), Steps: root.amount(steps), Depth: root.deep(s.Limits),
	}
	call, t := o.Call, tokens{calls: b.ModelCalls, atOnce: 1}
	if c.branches {
		t.atOnce = s.Parallel // agents work beside each other
	}
	if call.Total == 0 && call.Input > 0 && call.Output > 0 {
		call.Total = call.Input + call.Output
	}
	b.InputTokens = t.amount(s.Limits.InputTokens, "input_tokens", call.Input)
	b.OutputTokens = t.amount(s.Limits.OutputTokens, "output_tokens", call.Output)
	b.TotalTokens = t.amount(s.Limits.TotalTokens, "total_tokens", call.Total)
	b.Cost = t.amount(int64(s.Limits.Cost), "cost", int64(price(call, o.Prices)))
	return b, nil
}

// frames returns the bounds of the frames, that of the root first.
func (c *calculation) frames(root string) []Frame {
	var all []Frame
	for name, p := range c.parts {
		if p.reached {
			does := p.does
			all = append(all, Frame{
				Strategy: name, Table: p.table, ModelCalls: shown(does.models), ToolCalls: shown(min(most, does.calls+does.starts)),
				Batches: shown(does.batches), Delegations: shown(does.delegations),
			})
		}
	}
	rest := func(f Frame) string { // what sorts the frames: the root has no name before all others
		if f.Strategy == root {
			return ""
		}
		return f.Strategy
	}
	slices.SortFunc(all, func(a, b Frame) int { return cmp.Compare(rest(a), rest(b)) })
	return all
}

// shown returns an amount as it is handed out.
func shown(n int64) int64 {
	if n >= most {
		return Unbounded
	}
	return n
}

// amount returns what the run uses of a quantity, as the subtree of its root.
func (t *subtree) amount(q quantity) Amount {
	a := Amount{Most: shown(t.n[q]), By: t.by[q]}
	if t.cut && slices.Contains(a.By, Reason{}) {
		a.By = addReason(a.By, Reason{Limit: "depth"})
	}
	return a
}

// deep returns the depth of the run.
func (t *subtree) deep(l delegation.Limits) Amount {
	switch {
	case t.depth >= most:
		return Amount{Most: Unbounded}
	case l.Depth >= 0 && t.depth == int64(l.Depth) && t.cut:
		return Amount{Most: t.depth, By: []Reason{{Limit: "depth"}}}
	default:
		return Amount{Most: t.depth, By: []Reason{{}}}
	}
}
