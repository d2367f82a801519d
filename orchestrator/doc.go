// Package orchestrator runs strategies: it performs the steps they ask for and feeds them the
// answers.
//
// A [Machine] holds the frame stack of one run and does no I/O. An [Orchestrator] is one loop
// around a Machine, with one [Handler], which [Middleware] may wrap, that asks models and runs
// tools. What happens is told as [Event] values.
//
// The loop, in full, is what any other engine needs as well:
//
//	for !m.Done() {
//		answer := perform(m.Pending())
//		if err := m.Step(answer); err != nil { … }
//		for _, e := range m.Events() { … }
//	}
//
// Each answer is stored in a journal ([Config].Store) before the run goes on with it, so that
// [Orchestrator.Resume] can take the run up again. What a run waits for is a [Wait], answered by a
// [Reply]: in the process, or when it is resumed.
package orchestrator
