package live

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// outcome is what became of a task.
type outcome struct {
	row      row
	task     task
	tools    []string // calls that were made
	status   machine.Status
	text     string // the answer
	failed   string // why there is none
	called   bool   // the right calls were made
	clean    bool   // the answer has the right value, and no mark
	marked   bool   // the run ended as done, and its answer holds a mark, a call or a result
	invented bool   // the model wrote a result itself, and it was kept, or it answered without any of the calls it needs
	requests int
	tokens   int64

	late    bool // the time was over before the task ended
	missing int  // requests that no recording answers
}

func (o *outcome) done() bool { return o.called && o.clean }

// String is one line.
func (o *outcome) String() string {
	said := fmt.Sprintf("%.160q", o.text)
	if o.failed != "" {
		said = fmt.Sprintf("failed: %.160q", o.failed)
	}
	if o.late {
		said = "late; " + said
	}
	return fmt.Sprintf("%s %s: %s; %d requests, %d tokens; %q; %s",
		o.row, o.task.name, strings.Join(o.verdict(), " "), o.requests, o.tokens, o.tools, said)
}

// verdict returns the names of what is true of an outcome.
func (o *outcome) verdict() (is []string) {
	for _, v := range []struct {
		name string
		is   bool
	}{{"called", o.called}, {"clean", o.clean}, {"DONE", o.done()}, {"marked", o.marked}, {"invented", o.invented}} {
		if v.is {
			is = append(is, v.name)
		}
	}
	if len(is) == 0 {
		return []string{"nothing"}
	}
	return is
}

// marksOfCalls and marksOfResults are texts that formats put around calls and results, and that
// no answer to a task of the suite contains.
var (
	marksOfCalls = regexp.MustCompile("```tool|<tool_call|tool_call|</?function|</?invoke|</?example|call_id|\\[TOOL_CALLS\\]|<\\|" +
		`|"arguments"|"parameters"|"answer":` +
		`|(?m)^(?:Action|Action Input|Thought|Final Answer):` +
		`|\b(?:add|get_weather|order_status|read_file|write_file|create_event|final|submit_plan|submit_evaluation|agent_decide_next|agent_observe_decide)\(` +
		`|"name":\s*"(?:add|get_weather|order_status|read_file|write_file|create_event|final|submit_plan|submit_evaluation|agent_decide_next|agent_observe_decide)"`)
	marksOfResults = regexp.MustCompile(`tool_result|tool_response|tool_output|<\|?ipython|(?m)^Observation:`)
)

func marked(text string) bool {
	return marksOfCalls.MatchString(text) || marksOfResults.MatchString(text)
}

// judge says what became of a task.
func judge(r row, k task, made []string, res orchestrator.Result, err error) outcome {
	out := outcome{
		row: r, task: k, tools: made, status: res.Status, text: res.Output.Text(),
		requests: res.Output.Counts.ModelCalls, tokens: res.Output.Usage.Total,
		called: !k.noCalls || len(made) == 0,
	}
	for _, want := range k.calls {
		out.called = out.called && slices.ContainsFunc(made, func(call string) bool { return holds(call, want) })
	}
	if err != nil {
		out.failed = err.Error()
	} else if res.Status != machine.StatusDone {
		out.failed = string(res.Status)
	}
	if out.failed == "" {
		out.marked = marked(out.text)
		out.clean = !out.marked
		for _, want := range k.answer {
			out.clean = out.clean && holds(out.text, want)
		}
	}
	out.invented = marksOfResults.MatchString(out.text) || (out.failed == "" && !out.marked && !k.noCalls && len(made) == 0)
	for _, m := range res.Output.Messages {
		if a, ok := m.(messages.Assistant); ok {
			out.invented = out.invented || marksOfResults.MatchString(a.Text())
		}
	}
	return out
}

// holds reports whether a text holds one of the alternatives.
func holds(text, alternatives string) bool {
	return slices.ContainsFunc(strings.Split(alternatives, "|"), func(part string) bool { return strings.Contains(text, part) })
}

// tables are the tables of all outcomes, with a line for each row.
func tables(all []outcome) string {
	var b strings.Builder
	last := row{}
	for i := 0; i < len(all); {
		r := all[i].row
		if r.table != last.table {
			fmt.Fprintf(&b, "\n%s:\n\n", titles[r.table])
			b.WriteString("| policy | strategy | called | clean | done | marked | invented | late | requests | tokens |\n|---|---|---|---|---|---|---|---|---|---|\n")
		}
		var n, called, clean, done, bad, invented, late, requests int
		var tokens int64
		for ; i < len(all) && all[i].row.String() == r.String(); i++ {
			o := &all[i]
			n, requests, tokens = n+1, requests+o.requests, tokens+o.tokens
			called += one(o.called)
			clean += one(o.clean)
			done += one(o.done())
			bad += one(o.marked)
			invented += one(o.invented)
			late += one(o.late)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d of %d | %d | %d | %d | %d | %d |\n",
			r.policy, r.strategy, called, clean, done, n, bad, invented, late, requests, tokens)
		last = r
	}
	return strings.TrimPrefix(b.String(), "\n")
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

var titles = map[string]string{
	"twelve":        "Twelve tasks of a step or two",
	"several steps": "Six tasks of several steps",
}
