package orchestrator_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// stopsJournal is what a journal says.
type stopsJournal struct {
	records int
	said    []messages.ToolCall         // calls of the last reply
	results map[int]messages.ToolOutput // by the number of the call
	partial messages.Assistant          // of the last answer, if that is a failure
}

// readJournal reads what is new in the journal of the run. No result stands in it twice.
func (c *stopsCase) readJournal() stopsJournal {
	j := c.stored
	j.results = map[int]messages.ToolOutput{}
	maps.Copy(j.results, c.stored.results)
	for rec, err := range c.store.Read(context.Background(), checkpoint.Key{Run: "r"}, j.records+1) {
		if err != nil {
			break // there is none
		}
		j.records = rec.Seq
		entry, err := machine.ReadRecord(rec.Data)
		if err != nil {
			c.blame("record %d: %v", rec.Seq, err)
		}
		answered, _ := entry.(machine.Answered)
		switch a := answered.Answer.(type) {
		case nextstep.APIResponse:
			j.said = a.Response.Message.Calls()
		case nextstep.ToolResult:
			c.keep(&j, a.Output)
		case nextstep.Failure:
			j.partial = a.Partial
		}
	}
	return j
}

// keep adds a result that stands in the journal.
func (c *stopsCase) keep(j *stopsJournal, out messages.ToolOutput) {
	n := stopsNumberOf(j.said, out.CallID)
	if before, twice := j.results[n]; twice {
		c.blame("the journal has two results of call %d: %+v and %+v", n, before, out)
	}
	j.results[n] = out
}

// journalled checks that all that was done in a segment stands in the journal, and that nothing was
// done that stood there.
func (c *stopsCase) journalled(end *stopsEnd, before *stopsJournal, ran map[int]int) {
	for n, count := range ran {
		if _, known := before.results[n]; known && count > 0 {
			c.blame("call %d is made although its result is in the journal", n)
		}
		if count > 1 {
			c.blame("call %d is made %d times", n, count)
		}
		if end.crashed || end.unstored() {
			continue
		}
		for _, work := range c.work[n] {
			out, kept := c.stored.results[n]
			switch {
			case work.segment != c.segment || work.suspended:
			case !kept && end.left && (work.err != nil || !work.over): // it was interrupted, and is made again
			case !kept:
				c.blame("the result %+v of call %d is lost: %v", *work, n, work.err)
			default:
				c.faithful(n, work, out)
			}
		}
	}
}

// faithful checks a result against what the tool did.
func (c *stopsCase) faithful(n int, work *stopsWork, out messages.ToolOutput) {
	abandoned := strings.Contains(out.Output, "was abandoned")
	switch {
	case abandoned:
	case work.ended && work.err == nil && (!out.OK() || out.Output != work.text):
		c.blame("call %d returned %q, and its result is %+v", n, work.text, out)
	case work.ended && work.err != nil && (out.OK() || !strings.Contains(out.Output, work.err.Error())):
		c.blame("call %d failed with %q, and its result is %+v", n, work.err, out)
	case !work.ended && out.OK():
		c.blame("call %d did not return, and its result is %+v", n, out)
	}
}

// executions says how often the functions of tools were called in this segment, by call.
func (c *stopsCase) executions() map[int]int {
	ran := map[int]int{}
	for n, list := range c.work {
		for _, work := range list {
			if work.segment == c.segment {
				ran[n]++
			}
		}
	}
	return ran
}

// complete checks that the messages, the events and the journal of a run that has ended tell the
// same results.
func (c *stopsCase) complete(end *stopsEnd) {
	root, seen := map[int]messages.ToolOutput{}, map[int]messages.ToolOutput{}
	c.collect(root, end.finished.Output.Messages)
	for _, h := range append(c.children, end.finished.Output.Messages) {
		c.collect(seen, h)
	}
	for n, out := range c.stored.results {
		if got, ok := seen[n]; ok && !reflect.DeepEqual(got, out) {
			c.blame("the result of call %d is %+v in the messages and %+v in the journal", n, got, out)
		}
		seen[n] = out
	}
	for n, told := range c.told {
		last := told[len(told)-1]
		out, ok := seen[n]
		_, inRoot := root[n]
		switch {
		case c.lost:
		case !inRoot && last.frame != "0" && (last.out.Status == messages.StatusUnknown || last.out.Reason == messages.ReasonInterrupted):
			// made by the end of its frame, and not by the tool: see journalled
		case !ok && c.store != nil && c.worked(n): // else nothing came of it, in a frame that ended with the run
			c.blame("the result %+v of call %d is told and nowhere else", told, n)
		case !inRoot && last.frame == "0":
			c.blame("the result %+v of call %d is not in the history", last, n)
		case ok && !reflect.DeepEqual(last.out, out):
			c.blame("the result of call %d is told as %+v and is %+v", n, told, out)
		case !c.gaps && len(told) > 1:
			c.blame("the result of call %d is told %d times", n, len(told))
		}
	}
	if !c.gaps {
		c.toldAll(seen)
	}
}

// toldAll checks that the events of a run tell all that happened.
func (c *stopsCase) toldAll(seen map[int]messages.ToolOutput) {
	for n, out := range seen {
		if len(c.told[n]) == 0 && out.Reason != "cut_off" { // the strategy's own word, in a conclusion
			c.blame("the result %+v of call %d is never told", out, n)
		}
		for _, work := range c.work[n] {
			if !work.suspended {
				c.faithful(n, work, out)
			}
		}
	}
	for frame, open := range c.entered {
		if open != 0 {
			c.blame("frame %s is entered and not left", frame)
		}
	}
}

// worked reports whether call n was made, and did not wait for somebody.
func (c *stopsCase) worked(n int) bool {
	return slices.ContainsFunc(c.work[n], func(work *stopsWork) bool { return !work.suspended })
}

// collect adds the results in a history.
func (c *stopsCase) collect(seen map[int]messages.ToolOutput, h messages.History) {
	here := map[int]bool{}
	var said []messages.ToolCall
	for _, m := range h {
		switch m := m.(type) {
		case messages.Assistant:
			said = m.Calls()
		case messages.Tool:
			n := stopsNumberOf(said, m.CallID)
			if n == 0 { // of the conversation that the run goes on from
				continue
			}
			if before, ok := seen[n]; here[n] || ok && !reflect.DeepEqual(before, m.ToolOutput) {
				c.blame("the result of call %d stands twice: %+v and %+v", n, before, m.ToolOutput)
			}
			here[n], seen[n] = true, m.ToolOutput
		}
	}
}
