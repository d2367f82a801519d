package orchestrator

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
)

// remains is what is left of each limit of a run; negative: it has none.
type remains struct {
	depth, steps, modelCalls, toolCalls int64
	input, output, total                int64
}

// remains returns what the frame on top has left, once a batch of that many calls is paid for.
func (m *Machine) remains(calls int) remains {
	left := remains{-1, -1, -1, -1, -1, -1, -1}
	for i, f := range m.stack.All() {
		l, u := &f.limits, &f.used
		left = remains{
			depth:      lesser(left.depth, int64(l.Depth), int64(m.stack.Depth()-i)),
			steps:      lesser(left.steps, int64(l.Steps), int64(u.steps)),
			modelCalls: lesser(left.modelCalls, int64(l.ModelCalls), int64(u.modelCalls)),
			toolCalls:  lesser(left.toolCalls, int64(l.ToolCalls), int64(u.toolCalls+calls)),
			input:      lesser(left.input, l.InputTokens, u.usage.Input),
			output:     lesser(left.output, l.OutputTokens, u.usage.Output),
			total:      lesser(left.total, l.TotalTokens, u.usage.Total),
		}
	}
	return left
}

// without returns what is left once that is spent.
func (l remains) without(s nextstep.Spent) remains {
	rest := func(left, used int64) int64 {
		if left < 0 {
			return left
		}
		return max(0, left-used)
	}
	return remains{
		depth: l.depth, steps: rest(l.steps, int64(s.Steps)), modelCalls: rest(l.modelCalls, int64(s.ModelCalls)),
		toolCalls: rest(l.toolCalls, int64(s.ToolCalls)), input: rest(l.input, s.Usage.Input),
		output: rest(l.output, s.Usage.Output), total: rest(l.total, s.Usage.Total),
	}
}

// lesser returns the smaller of what is left and what is left of another limit.
func lesser(left, limit, used int64) int64 {
	if limit < 0 {
		return left
	}
	rest := max(0, limit-used)
	if left < 0 {
		return rest
	}
	return min(left, rest)
}

// shares reserves what each of the runs of a call may use; nil for one that nothing is left for.
func (h *host) shares(call string, own delegation.Limits, runs int) []*delegation.Limits {
	agents, place := max(1, len(h.agents)), 0
	for i, id := range h.agents {
		if id == call {
			place = i
		}
	}
	all := make([]*delegation.Limits, runs)
	for i := range all {
		some := true
		share := func(left, limit int64) int64 {
			if left < 0 {
				return limit
			}
			mine := part(part(left, agents, place), runs, i)
			some = some && mine > 0
			if limit <= 0 {
				return mine
			}
			return min(limit, mine)
		}
		l := delegation.Limits{
			Steps:        int(share(h.left.steps, int64(own.Steps))),
			ModelCalls:   int(share(h.left.modelCalls, int64(own.ModelCalls))),
			ToolCalls:    int(share(h.left.toolCalls, int64(own.ToolCalls))),
			InputTokens:  share(h.left.input, own.InputTokens),
			OutputTokens: share(h.left.output, own.OutputTokens),
			TotalTokens:  share(h.left.total, own.TotalTokens),
			Depth:        own.Depth,
		}
		if h.left.depth >= 0 && (l.Depth <= 0 || int64(l.Depth) > h.left.depth) {
			l.Depth = int(h.left.depth)
			some = some && l.Depth > 0
		}
		if some {
			all[i] = &l
		}
	}
	return all
}

// part is the share of the one at a place when so many share something.
func part(whole int64, among, place int) int64 {
	share := whole / int64(among)
	if int64(place) < whole%int64(among) {
		share++
	}
	return share
}
