package planreviseexecute

import "github.com/segue-go/segue/strategy"

// Bound returns the greatest number of model calls of a run if no step makes more than perStep, not
// counting retries inside a client. With p = MaxRevisions + 1 plans it is
//
//	p, and p judgements with EvaluateByModel, and MaxRetries, and 1 with AnswerSynthesize
//	+ (MaxSteps + MaxRevisions * w) * perStep
//
// because a step that is done never runs again, and steps that fail cost a revision; w is the
// number of steps that may run at the same time, and so fail together: 1, or the smaller one of
// Parallel and MaxSteps. For plans within plans, nest the calls: c.Bound(c.Bound(leaf)) is the
// bound of two levels. A negative perStep means no bound, and gives -1. An invalid Config has the
// bound 0.
func (c Config) Bound(perStep int) int {
	s := compile(c)
	if s.Err != nil {
		return 0
	}
	if perStep < 0 {
		return -1
	}
	plans := s.MaxRevisions + 1
	own := plans + s.MaxRetries
	if s.Evaluation == EvaluateByModel {
		own += plans
	}
	if s.Answer == AnswerSynthesize {
		own++
	}
	return own + (s.MaxSteps+s.MaxRevisions*s.width())*perStep
}

// Bounds implements strategy.Bounder.
func (s *planReviseExecute) Bounds() strategy.Bounds {
	most := map[strategy.Trigger]int{approved: s.MaxSteps + s.MaxRevisions} // each is a step that is done, or one that failed
	for on, used := range map[strategy.Trigger]bool{
		planned: s.Evaluation == EvaluateByModel, rejected: s.Evaluation != EvaluateNever, executed: s.Answer == AnswerSynthesize,
	} {
		if !used {
			most[on] = 0
		}
	}
	said := strategy.Bounds{Triggers: most, Offers: []string{}, ChildTools: s.StepTools, ChildLimits: s.StepLimits, AgentStates: []strategy.State{executingSteps}}
	most[branched] = 0
	if w := s.width(); w > 1 {
		delete(most, branched)
		said.Calls = map[strategy.State]int{executingSteps: w}
		said.Starts = s.MaxSteps + s.MaxRevisions*w
	}
	return said
}
