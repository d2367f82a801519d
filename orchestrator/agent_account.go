package orchestrator

import "github.com/segue-go/segue/nextstep"

// account is what the run of an agent has used, as its parent counts it. It is kept up to date
// while the run goes on, so that one which is abandoned is paid for all the same.
type account struct {
	host *host
	call string         // that the run was made for
	own  nextstep.Spent // by the run itself, and by agents of its steps that have ended
	sub  nextstep.Spent // by the agents of the step in progress
}

// open opens the account of a run that a call makes.
func (h *host) open(call string) *account {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &account{host: h, call: call}
	h.accounts = append(h.accounts, a)
	return a
}

// spent returns what the runs of a call have used; with "" those of all calls. The lock is held.
func (h *host) spent(call string) nextstep.Spent {
	var sum nextstep.Spent
	for _, a := range h.accounts {
		if call == "" || a.call == call {
			sum = sum.Add(a.own).Add(a.sub)
		}
	}
	return sum
}

// charge puts down what a run has used so far. The pending step counts as taken: its tokens are not
// known yet. The account of a run that is no agent is nil.
func (a *account) charge(r *run) {
	if a == nil {
		return
	}
	used := r.m.root.used
	own := nextstep.Spent{Steps: used.steps, ModelCalls: used.modelCalls, ToolCalls: used.toolCalls, Usage: used.usage}
	switch step := r.m.pending.(type) {
	case nextstep.GetChatCompletion:
		own.ModelCalls++
	case nextstep.ExecuteTools:
		own.ToolCalls += len(step.Calls)
	}
	within, _, _ := r.people.settled()
	a.put(own.Add(within), nextstep.Spent{})
}

// put changes an account, and with it those of all runs above. Locks are taken from below. What
// comes after the batch of the run has its results is in nobody's account.
func (a *account) put(own, sub nextstep.Spent) {
	h := a.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	a.own, a.sub = own, sub
	if up := h.run.account; up != nil {
		up.nested(h.spent(""))
	}
}

// nested is put for what the agents of the step in progress have used.
func (a *account) nested(sub nextstep.Spent) {
	h := a.host
	h.mu.Lock()
	own := a.own
	h.mu.Unlock()
	a.put(own, sub)
}
