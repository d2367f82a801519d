package crash

import (
	"context"
	"fmt"
	"maps"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// journal is what a run has stored, whoever stored it, with what a machine makes of it that reads
// each record as it comes.
type journal struct {
	store   checkpoint.Store
	machine *machine.Machine
	records int

	happened history
	drifts   []string          // what the engine says of a strategy that asks otherwise than before
	events   map[number]string // as text
	actors   map[string]string // by the names of their frames
	requests map[string]int    // by frame: those of a model that were answered
	answered map[string]bool   // effects, by frame and id
	intended map[string]bool   // the same of those that are to begin
	left     map[string]int    // by place: how often a call has returned, to be made again once somebody has answered
}

// number is the place of an event in a run.
type number struct{ record, index int }

func newJournal(cfg *orchestrator.Config, task *orchestrator.Task, reader *tools.Definition) *journal {
	var defs []tools.Definition
	for _, t := range cfg.Tools {
		defs = append(defs, t.Definition())
	}
	if reader != nil {
		defs = append(defs, *reader)
	}
	strategies, _ := strategiesOf(cfg, task)
	m := &machine.Config{
		Strategies: strategies, Tools: defs, Agents: agentsOf(cfg.Tools), Limits: cfg.Limits, Parallel: cfg.Parallel, MaxResult: cfg.MaxToolResult,
		Approve: policyOf(cfg.Approve), StopNote: cfg.StopNote, Durable: true, Strict: cfg.Strict, Fingerprints: machine.Fingerprints(strategies),
	}
	return &journal{
		store: new(checkpoint.Memory), machine: machine.New(m), happened: newHistory(),
		events: map[number]string{}, actors: map[string]string{}, requests: map[string]int{}, left: map[string]int{},
		answered: map[string]bool{}, intended: map[string]bool{},
	}
}

// read reads records that were stored, and returns what is wrong with them.
func (j *journal) read(records []checkpoint.Record) (problems []string) {
	for i := range records {
		r := &records[i]
		if r.Seq != j.records+1 {
			problems = append(problems, fmt.Sprintf("record %d was stored behind record %d", r.Seq, j.records))
		}
		j.records = r.Seq
		if err := j.apply(r.Data); err != nil {
			return append(problems, fmt.Sprintf("record %d, %s, cannot be read back: %v", r.Seq, r.Type, err))
		}
	}
	return problems
}

func (j *journal) apply(data []byte) error {
	rec, err := machine.ReadRecord(data)
	if err != nil {
		return err
	}
	if err := j.machine.Apply(rec); err != nil {
		return err
	}
	switch r := rec.(type) {
	case machine.Intended:
		j.intended[r.Frame+" "+r.Effect.String()] = r.Verdict == machine.VerdictAllow
	case machine.Answered:
		j.answered[r.Frame+" "+r.Effect.String()] = !r.NotBegun
		if r.Kind == machine.EffectModel && !r.NotBegun {
			j.requests[r.Frame]++
		}
	case machine.Suspended:
		j.left[placeOfWait(&r.Waits[0])]++
	}
	events := j.machine.Ready().Events
	for i := range events {
		j.event(&events[i])
	}
	j.machine.Advance()
	return nil
}

// event notes an event of the machine.
func (j *journal) event(e *machine.Event) {
	j.events[number{e.Record, e.Index}] = textOfEvent(e)
	if d, ok := e.Detail.(machine.FrameEntered); ok {
		j.actors[e.Frame] = j.happened.actor(j.actors[above(e.Frame)], d.CallID)
	}
	switch d := e.Detail.(type) {
	case machine.RunResumed, machine.WaitEnded:
	case machine.Drifted:
		j.drifts = append(j.drifts, d.What)
	case machine.WaitStarted:
		if d.Wait.Kind != machine.WaitUnknown {
			j.happened.waited(j.actors[e.Frame], &d.Wait)
		}
	case machine.RunStarted: // which comes before its frame
		j.happened.add("0", e.Kind, d)
	default:
		j.happened.add(j.actors[e.Frame], e.Kind, d)
	}
}

// above is the name of the frame above one.
func above(frame string) string {
	for i := len(frame) - 1; i >= 0; i-- {
		if frame[i] == '.' {
			return frame[:i]
		}
	}
	return ""
}

// textOfEvent is an event as text, but for its time, which is the engine's.
func textOfEvent(e *machine.Event) string {
	return fmt.Sprintf("%s of frame %s, step %d: %s", e.Kind, e.Frame, e.Seq, textOf(e.Detail))
}

// gapless says what is wrong with the numbers of the records that are stored; "" if nothing is.
func (j *journal) gapless(ctx context.Context, key checkpoint.Key) string {
	last := 0
	for r, err := range j.store.Read(ctx, key, 1) {
		if err != nil {
			return "the store cannot be read: " + err.Error()
		}
		if r.Seq != last+1 {
			return fmt.Sprintf("record %d follows record %d", r.Seq, last)
		}
		last = r.Seq
	}
	if last != j.records {
		return fmt.Sprintf("the store holds %d records, and was given %d", last, j.records)
	}
	return ""
}

// strategiesOf returns the strategies of a run, that of its task among them, and the name of the
// first.
func strategiesOf(cfg *orchestrator.Config, task *orchestrator.Task) (set strategy.Set, root string) {
	set, root = cfg.Strategies, task.Strategy
	names := set.Names()
	switch {
	case task.Factory != nil:
		if root == "" {
			root = "task"
		}
		set = maps.Clone(set)
		set[root] = task.Factory
	case root == "" && cfg.Default != "":
		root = cfg.Default
	case root == "" && len(names) == 1:
		root = names[0]
	}
	return set, root
}

// agentsOf returns the tools that are agents, by name.
func agentsOf(list []tools.Tool) map[string]*machine.Agent {
	agents := map[string]*machine.Agent{}
	for _, t := range list {
		if a := machine.AgentOf(t); a != nil {
			agents[t.Definition().Name] = a
		}
	}
	return agents
}

// policyOf returns what the documentation of orchestrator.ApprovalConfig says.
func policyOf(c *orchestrator.ApprovalConfig) machine.ApprovalPolicy {
	asksForIt := func(r machine.ApprovalRequest) machine.Verdict {
		if r.Definition.NeedsApproval {
			return machine.VerdictAsk
		}
		return machine.VerdictAllow
	}
	if c == nil {
		return asksForIt
	}
	return func(r machine.ApprovalRequest) machine.Verdict {
		switch policy := c.Tools[r.Definition.Name]; {
		case policy != nil:
			return policy(r)
		case r.Definition.NeedsApproval:
			return machine.VerdictAsk
		case c.Default != nil:
			return c.Default(r)
		default:
			return machine.AskIfChanging(r)
		}
	}
}
