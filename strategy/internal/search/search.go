// Package search is the search for tools that package toolsearch configures.
package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// ReasonEarly is the reason of the result of a call of a tool that was not offered yet.
const ReasonEarly = "not_offered"

// Search decides which tools the requests of a frame offer. It is for one goroutine. The nil Search
// has no tools.
type Search struct {
	plan    *Plan // nil: all tools are offered
	all     []tools.Definition
	places  map[string]int // of all
	offered []tools.Definition
	names   map[string]bool // of offered
	before  int             // offered[:before] are there from the beginning
	count   int             // tools that can be found
	written bool
	index   *index // nil until the first search
}

// Options change what a Search does.
type Options struct {
	// Always names more tools that are always offered, after the pinned ones. Those that the frame
	// may not use are left out.
	Always []string

	// Written says that the model does not see the definitions in the requests, because the tools
	// are described in a text: what is found is then described in full in the result of the search.
	Written bool
}

// Start begins a frame that may use these tools, which are read-only from now on. Pinned names that
// are not among them are left out: a frame may be given fewer tools than the run has. The tool
// [tools.ReadResultName] is pinned, because results say how to call it. Everything is offered if
// the Plan is nil, if there are no more tools than it says, or if all of them are pinned. The error
// says that a tool has the name of the search tool.
func (p *Plan) Start(pkg string, defs []tools.Definition, o Options) (*Search, error) {
	s := &Search{all: defs, offered: defs, before: len(defs)}
	if p == nil || len(defs) <= p.above {
		return s, nil
	}
	places := make(map[string]int, len(defs))
	for i := range defs {
		places[defs[i].Name] = i
	}
	if _, taken := places[p.name]; taken {
		return s, fmt.Errorf("%s: Search: the run has a tool %q of its own: give the search another Name", pkg, p.name)
	}
	var pinned []tools.Definition
	names := map[string]bool{}
	for _, name := range slices.Concat(p.pinned, o.Always, []string{tools.ReadResultName}) {
		if at, ok := places[name]; ok && !names[name] {
			pinned, names[name] = append(pinned, defs[at]), true
		}
	}
	if len(pinned) == len(defs) {
		return s, nil
	}
	s.plan, s.places, s.names, s.written, s.count = p, places, names, o.Written, len(defs)-len(pinned)
	s.offered = append(pinned, p.definition(s.count))
	s.names[p.name], s.before = true, len(s.offered)
	return s, nil
}

// Active reports whether fewer than all tools are offered at the beginning.
func (s *Search) Active() bool { return s != nil && s.plan != nil }

// Offered returns the tools for the next request: the pinned ones, the search tool, and those that
// were found, in the order in which they were found. The slice is read-only, and does not change
// when more are found.
func (s *Search) Offered() []tools.Definition {
	if s == nil {
		return nil
	}
	return slices.Clip(s.offered)
}

// Callable returns all tools that the model may name in a reply, whether they are offered or not,
// for a text format that reads replies better if it knows them. The slice is read-only.
func (s *Search) Callable() []tools.Definition {
	switch {
	case s == nil:
		return nil
	case !s.Active():
		return s.all
	default:
		return append(slices.Clip(s.all), s.offered[s.before-1])
	}
}

// Found returns the names of the tools that were found, in that order, in a new slice; nil if there
// are none. It is what a snapshot must hold.
func (s *Search) Found() []string { return s.after(0) }

// after returns the names of the tools that were found after the first n.
func (s *Search) after(n int) []string {
	if !s.Active() {
		return nil
	}
	var names []string
	for _, d := range s.offered[min(s.before+n, len(s.offered)):] {
		names = append(names, d.Name)
	}
	return names
}

// Count returns the number of tools that were found.
func (s *Search) Count() int {
	if !s.Active() {
		return 0
	}
	return len(s.offered) - s.before
}

// News says which tools were found after the first n, in a text for Anew of
// nextstep.GetChatCompletion. It returns nil if none were.
func (s *Search) News(n int) *string {
	names := s.after(n)
	if names == nil {
		return nil
	}
	return new("tools found: " + strings.Join(names, ", "))
}

// Restore makes a Search that was just started one that has found these tools.
func (s *Search) Restore(found []string) error {
	if len(found) > 0 && !s.Active() {
		return fmt.Errorf("it has found tools (%.200q), and nothing is searched for with these tools and this Config", found)
	}
	for _, name := range found {
		if !s.offer(name) {
			return fmt.Errorf("it has found the tool %.80q, which the frame may not use or which is offered anyway", name)
		}
	}
	return nil
}

// Recall offers the tools that were called in an earlier conversation, in the order of their first
// calls, so that the next turn of a chat need not find them again. Call it before the first
// request.
func (s *Search) Recall(h messages.History) {
	if !s.Active() {
		return
	}
	for _, m := range h {
		if a, ok := m.(messages.Assistant); ok {
			for _, c := range a.Calls() {
				s.offer(c.Name)
			}
		}
	}
}

// offer appends a tool to those that are offered. It returns false if it is offered, or unknown.
func (s *Search) offer(name string) bool {
	at, known := s.places[name]
	if !known || s.names[name] {
		return false
	}
	s.offered, s.names[name] = append(slices.Clip(s.offered), s.all[at]), true
	return true
}

// Own reports whether the strategy must answer a call with Answers and not have it run: it calls
// the search tool, or a tool that exists and was not offered yet.
func (s *Search) Own(call messages.ToolCall) bool {
	if !s.Active() {
		return false
	}
	_, known := s.places[call.Name]
	return call.Name == s.plan.name || known && !s.names[call.Name]
}

// Rest returns the calls of one reply that are to be run, in their order: those that are not Own.
func (s *Search) Rest(calls []messages.ToolCall) []messages.ToolCall {
	if !slices.ContainsFunc(calls, s.Own) {
		return calls
	}
	return slices.DeleteFunc(slices.Clone(calls), s.Own)
}

// Answers makes the searches among the calls of one reply, and returns the results of the calls
// that are Own, in their order. What was found is offered from then on.
func (s *Search) Answers(calls []messages.ToolCall) []messages.ToolOutput {
	var own []messages.ToolCall
	for _, c := range calls { // before anything is found
		if s.Own(c) {
			own = append(own, c)
		}
	}
	var answers []messages.ToolOutput
	for _, c := range own {
		answers = append(answers, s.answer(c))
	}
	return answers
}

// Complete returns the results of the calls of one reply, in their order: those that are given, and
// the Answers to the others.
func (s *Search) Complete(calls []messages.ToolCall, results []messages.ToolOutput) []messages.ToolOutput {
	answers := s.Answers(calls)
	if len(answers) == 0 {
		return results
	}
	all := make([]messages.ToolOutput, 0, len(calls))
	for _, c := range calls {
		if len(answers) > 0 && answers[0].CallID == c.ID {
			all, answers = append(all, answers[0]), answers[1:]
		} else if len(results) > 0 {
			all, results = append(all, results[0]), results[1:]
		}
	}
	return all
}

// answer answers one call.
func (s *Search) answer(call messages.ToolCall) messages.ToolOutput {
	out := messages.ToolOutput{CallID: call.ID, ToolName: call.Name}
	fail := func(reason, prompt string, data toolsearch.PromptData) messages.ToolOutput {
		out.Status, out.Reason, out.Output = messages.StatusFailed, reason, s.plan.fill(prompt, data)
		return out
	}
	if at, early := s.places[call.Name]; early {
		s.offer(call.Name)
		return fail(ReasonEarly, "Early", toolsearch.PromptData{Count: s.count, Tools: s.shown([]int{at})})
	}
	var asked struct {
		Query string `json:"query"`
	}
	if err := call.Decode(&asked); err != nil || strings.TrimSpace(asked.Query) == "" {
		return fail(tools.ReasonArguments, "Arguments", toolsearch.PromptData{Count: s.count})
	}
	if s.index == nil {
		s.index = newIndex(s.all)
	}
	data := toolsearch.PromptData{Query: line(asked.Query, 100), Count: s.count}
	out.Status = messages.StatusOK
	found := s.index.find(asked.Query, s.plan.results)
	if len(found) == 0 {
		out.Output = s.plan.fill("Nothing", data)
		return out
	}
	for _, at := range found {
		s.offer(s.all[at].Name)
	}
	data.Tools = s.shown(found)
	out.Output = s.plan.fill("Found", data)
	return out
}

// The most bytes of a tool that the result of a search has.
const (
	maxShown      = 200
	maxWritten    = 4 << 10
	maxParameters = 16 << 10
)

// shown returns tools for a text.
func (s *Search) shown(places []int) []toolsearch.Found {
	list := make([]toolsearch.Found, len(places))
	for i, at := range places {
		d := &s.all[at]
		list[i] = toolsearch.Found{Name: d.Name, Description: line(d.Description, maxShown)}
		if s.written {
			list[i].Description, list[i].Parameters = line(d.Description, maxWritten), compact(d.Parameters)
		}
	}
	return list
}

// line returns a text on one line, shortened to that many bytes.
func line(text string, most int) string {
	cut := text
	if len(text) > 2*most { // blanks are left out below
		cut = text[:2*most]
	}
	cut = strings.ToValidUTF8(strings.Join(strings.Fields(cut), " "), "")
	if len(cut) <= most && len(text) <= 2*most {
		return cut
	}
	cut = cut[:min(most, len(cut))]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return cut + "…"
}

// compact returns a schema on one line.
func compact(schema json.RawMessage) string {
	switch {
	case len(schema) == 0:
		return `{"type":"object","properties":{}}`
	case len(schema) > maxParameters:
		return `{"type":"object"} (the schema is too long to be shown)`
	}
	var b bytes.Buffer
	if json.Compact(&b, schema) != nil {
		return line(string(schema), maxParameters)
	}
	return b.String()
}
