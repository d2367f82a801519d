// Package eval says whether an agent got better: it has variants of an agent work on cases, scores
// what they did, and compares two evaluations with a test of significance.
//
//	suite := eval.Suite{
//		Name:     "orders",
//		Cases:    cases, // eval.ReadCases reads JSON Lines
//		Variants: []eval.Variant{{Name: "today", Agent: newAgent}},
//		Repeat:   5,
//		Store:    store, // each trial is a run of it
//	}
//	report, err := suite.Run(ctx, nil)
//
// A [Case] is a goal and what shows that it was reached: the calls of tools, the answer, the
// verdict of a [Judge], a function. A [Variant] is a way to have the cases done. Each pair of them
// is tried Repeat times, since a model answers otherwise each time; a [Trial] is one run of the
// agent, and its scores. A [Report] has the rates over the trials with their intervals, and what
// they cost. [Compare] holds one report against another. In go test, [Test] fails for what does
// not pass.
//
// What others call a dataset, sample and scorer (inspect_ai) or a dataset, case and evaluator
// (pydantic-evals) is here a suite, case and scorer; their epochs are the repetitions.
package eval
