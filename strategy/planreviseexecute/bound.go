package planreviseexecute

// Bound returns how many model calls a run can make at most, if no step makes more than perStep;
// retries hidden inside a client are not counted. With p = MaxRevisions + 1 plans it is
//
//	p, and p judgements with EvaluateByModel, and MaxRetries, and 1 with AnswerSynthesize
//	+ (MaxSteps + MaxRevisions) * perStep
//
// since a step that is done never runs again, and each step that fails costs a revision. Plans
// within plans nest: c.Bound(c.Bound(leaf)) is the bound of two levels. A negative perStep has
// none, which is -1; a Config that cannot be used has the bound 0.
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
	return own + (s.MaxSteps+s.MaxRevisions)*perStep
}
