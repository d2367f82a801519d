package planreviseexecute

import "github.com/segue-go/segue/strategy"

// Bounds implements strategy.Bounder.
func (s *planReviseExecute) Bounds() strategy.Bounds {
	most := map[strategy.Trigger]int{approved: s.MaxSteps + s.MaxRevisions} // each is a step that is done, or one that failed
	for on, used := range map[strategy.Trigger]bool{
		planned: s.Evaluation == EvaluateByModel, handedIn: s.Reviewer != "", rejected: s.Evaluation != EvaluateNever, executed: s.Answer == AnswerSynthesize,
	} {
		if !used {
			most[on] = 0
		}
	}
	said := strategy.Bounds{Triggers: most, Offers: []string{}, AgentStates: []strategy.State{executingSteps}}
	for _, name := range s.executes() {
		said.Delegates = append(said.Delegates, strategy.Child{Strategy: name, Tools: s.StepTools, Limits: s.limitsOf(name)})
	}
	if s.Reviewer != "" {
		said.Children = map[strategy.State][]strategy.Child{reviewingPlan: {{Strategy: s.Reviewer, Tools: s.ReviewTools, Limits: s.ReviewLimits}}}
	}
	most[branched] = 0
	if w := s.width(); w > 1 {
		delete(most, branched)
		said.Calls = map[strategy.State]int{executingSteps: w}
		said.Starts = s.MaxSteps + s.MaxRevisions*w
	}
	return said
}
