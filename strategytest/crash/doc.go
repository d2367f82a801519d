// Package crash cuts a run off wherever its process can die, and holds it to end as if nothing had
// happened:
//
//	crash.Test(t, crash.Case{Config: config, Task: task})
//
// An [orchestrator.Orchestrator] makes the run, on a store in memory: first as it is, one branch
// after the other. This run asks the model; what the model says then, it says in every later run.
// Each point of it is a boundary: before and after each append, the taking of the lease, each
// request, each call of a tool, each keeping of a large result and each answer of a person, and
// before the telling of each event. What is done at the same time is done in a fixed order, with as
// much as possible under way. So the run takes the same course each time, and can be made anew and
//
//   - be cut off at each boundary: the process does nothing any more, and another goes on when the
//     lease is over;
//   - be cut off a second time, at each boundary of what the other process does, or at some of them
//     where there are many;
//   - be made once more where somebody had to be asked about a call that may have had its effect,
//     with a person who says no;
//   - have its process frozen at each boundary, and woken when another one has ended the run;
//   - if it waits for people, have them answer in another process than the one that asked.
//
// These hold in all of them:
//
//   - Output, status and conversation are those of the first run, and so are states, steps, calls,
//     results, frames and questions to people, but for times and what is left of limits. If a
//     person has said no, this holds until the call whose outcome is unknown, and every call of the
//     conversation has a result.
//   - A call of a tool that is neither read-only nor idempotent is begun once, and once more for
//     each time that a person says so, or that the tool has suspended it. That it is to begin is
//     stored before.
//   - What has its answer in the journal is not done again. A call that is made again has the same
//     idempotency key.
//   - An event is told after its record is stored, and told as the journal has it, also the second
//     time. The numbers of records have no gap, and a process that reads them comes to the same.
//   - Large results that are kept are those of the first run, each once. A record that names one is
//     stored after it, so that the next process can read it.
//   - A process that was frozen stores nothing more, and knows that the run was taken over.
//
// Runs are made in bubbles of testing/synctest, by their clock: it takes no time to wait, and code
// of a case must not use what was made in another bubble, such as a channel.
package crash
