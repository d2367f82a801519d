package soak

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

// The run of a job makes a plan of three steps. The first calls tools of all kinds in two rounds,
// the second starts three agents at once, the third needs a person's approval. Every call of a job
// has arguments of its own, so that its effects are known by them.

var goalOf = regexp.MustCompile(`job=(\S+) part=(\w+)`)

// goal is the goal of a part of a job. The part "all" is the whole of it.
func goal(job, part string) string { return fmt.Sprintf("job=%s part=%s", job, part) }

// mark is the argument of a call, which no other call has.
func mark(job, part, what string) string { return job + "/" + part + "/" + what }

// call is a call of a tool with a mark.
func call(id, tool, mark string) messages.ToolCall {
	return scripted.Call(tool, fmt.Sprintf(`{"mark":%q}`, mark), id)
}

// answer is what the model says. It knows nothing but the request, so it says the same in every
// process.
func answer(req *llmclient.Request) scripted.Reply {
	job, part, rounds, planned := read(req)
	r := reply(job, part, rounds, planned)
	r.Delay = time.Duration(1+number(job, part, fmt.Sprint(rounds))%8) * time.Millisecond
	return r
}

func reply(job, part string, rounds int, planned bool) scripted.Reply {
	m := func(what string) string { return mark(job, part, what) }
	switch {
	case part == "all" && planned:
		return scripted.Text("finished " + job)
	case part == "all":
		return scripted.Calls(scripted.Call("submit_plan", fmt.Sprintf(`{"steps":[{"id":"1","goal":%q},{"id":"2","goal":%q},{"id":"3","goal":%q}]}`,
			goal(job, "calls"), goal(job, "agents"), goal(job, "approval")), "plan"))
	case part == "calls" && rounds == 0:
		return scripted.Calls(call("c1", "look", m("look-1")), call("c2", "put", m("put-1")), call("c3", "pay", m("pay-1")))
	case part == "calls" && rounds == 1:
		return scripted.Calls(call("c4", "book", m("book-1")), call("c5", "put", m("put-2")), call("c6", "pay", m("pay-2")))
	case part == "agents" && rounds == 0:
		return scripted.Calls(scripted.Call("agent", fmt.Sprintf(`{"goals":[%q,%q,%q]}`, goal(job, "a"), goal(job, "b"), goal(job, "c")), "c1"))
	case strings.Contains("abc", part) && rounds == 0:
		return scripted.Calls(call("c1", "look", m("look")), call("c2", "pay", m("pay")))
	case part == "approval" && rounds == 0:
		return scripted.Calls(call("c1", "grant", m("grant-1")), call("c2", "grant", m("grant-2")), call("c3", "put", m("put")))
	default:
		return scripted.Text("done " + part)
	}
}

// read says which part of which job a request is about, how many rounds of calls were made, and
// whether there is a plan.
func read(req *llmclient.Request) (job, part string, rounds int, planned bool) {
	for _, m := range req.Messages {
		switch m := m.(type) {
		case messages.User:
			if found := goalOf.FindStringSubmatch(m.Text()); found != nil && job == "" {
				job, part = found[1], found[2]
			}
		case messages.Assistant:
			if calls := m.Calls(); len(calls) > 0 {
				rounds++
				planned = planned || calls[0].Name == "submit_plan"
			}
		}
	}
	return job, part, rounds, planned
}

// number is a number that depends on texts alone.
func number(parts ...string) uint32 {
	h := fnv.New32a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p + ";"))
	}
	return h.Sum32()
}

// granted is what a person says to a call that needs an approval.
func granted(mark string) bool { return number(mark)%3 > 0 }

// due is a call of which a job is to have the effect.
type due struct {
	tool, mark string
}

// expected returns the calls of a job that have effects.
func expected(job string) (all []due) {
	add := func(tool, part, what string) { all = append(all, due{tool, mark(job, part, what)}) }
	add("put", "calls", "put-1")
	add("put", "calls", "put-2")
	add("put", "approval", "put")
	add("pay", "calls", "pay-1")
	add("pay", "calls", "pay-2")
	for _, part := range []string{"a", "b", "c"} {
		add("pay", part, "pay")
	}
	add("book", "calls", "book-1")
	for _, what := range []string{"grant-1", "grant-2"} {
		if granted(mark(job, "approval", what)) {
			add("grant", "approval", what)
		}
	}
	slices.SortFunc(all, func(a, b due) int { return strings.Compare(a.mark, b.mark) })
	return all
}
