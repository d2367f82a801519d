// Package machine holds one run of an agent as data. A [Machine] is the whole state of the run:
// frames, branches, limits, waits and approvals. It changes in one way only: [Machine.Apply]
// applies a [Record]. So a run is a list of records, its journal; other frameworks call the stored
// form a checkpoint. Live runs, resumed runs, replays, forks and inspectors all use the same Apply:
// the same records give the same effects, events and output.
//
// A Machine does no I/O, reads no clock, draws no random number and starts no goroutine. The code
// that drives it does these things, and is called an engine here. Package orchestrator is one
// engine; a workflow service, a test and an explorer are others.
//
// # The loop
//
// An engine applies records and does what [Machine.Ready] returns: it stores records, emits events
// and starts effects, in that order.
//
//	m := machine.New(cfg)
//	apply(cfg.Start(machine.Started{At: now(), Run: id, Strategy: name, Input: in}))
//	for {
//		for len(m.Ready().Intents) > 0 {
//			apply(stamped(m.Ready().Intents[0], now()))
//		}
//		store(applied)                  // one append of what was applied since the last
//		rd := m.Ready()
//		tell(rd.Events)
//		cancel(rd.Withdrawn)
//		start(rd.Effects)
//		m.Advance()
//		if m.Done() {
//			break
//		}
//		apply(next())                   // the next effect to end, or a reply, a note, a stop
//	}
//
// Here apply calls m.Apply, and keeps the record for store if Apply returned nil. The example of
// this package is the complete loop.
//
// # The duties of an engine
//
// Apply. Every record carries the time at which the engine made it. For a record that does not fit,
// Apply returns a typed error and changes nothing: do not store the record; the right record still
// works. If Apply rejects an answer, the engine answers the effect with a nextstep.Failure instead.
// Apply converts a record to the form that a journal would return: invalid UTF-8 is replaced, and a
// provider's raw body and the causes of errors are dropped. So a live run and its replay make the
// same decisions. The slices of a Ready are valid until the next Apply or Advance. Apply an intent
// as Ready returns it, which is never refused, and read Intents anew after each: one that is
// applied may add others, and withdraw others by ending their calls.
//
// Store. A record that is not stored did not happen. Store all applied records before emitting
// events or starting effects: an [Intended] must be in the journal before its call is made. If
// storing fails, discard the Machine and continue from the stored records. [AppendRecord] and
// [ReadRecord] write and read a record. The first record is the result of [Config.Start], so later
// changes of the Config do not affect the run.
//
// Emit. Events are in order, and the engine that applied their record emits each once. The engine
// sets their time, and may add its own deltas and progress.
//
// Start. Perform each [Effect] once each time that Ready returns it, in any order and in parallel;
// the Machine limits how many there are. Answer it with one record: an [Answered], made by
// [Effect.Answered], or a [Suspended] if it returns while it waits for a person. An engine that
// knows the prices of models adds the cost of the answer with [Answered.Priced]. If an effect asks
// a question and keeps running, apply an [Asked]. Answer an effect of kind [EffectPerson] with a
// [Replied]; no goroutine need wait for it.
//
// Cancel. Cancel the effects in Withdrawn. An effect in progress must still be answered, with its
// partial result. An effect that was not begun is answered with NotBegun, and its reserved budget
// is returned. A withdrawn question to a person needs no answer.
//
// # Resume
//
// To resume a run, apply its stored records to a new Machine, with an Advance after each, and then
// apply a [Resumed]. Ready returns the open effects again; [Machine.Open] returns them at any time.
// Store the Resumed only together with the next record: inspecting a run stores nothing. A call
// that is neither read-only nor idempotent, was started, and has no result is not repeated.
// [Resumed] selects what happens instead: a person is asked, or the strategy is told that the
// outcome is unknown. Any other effect is performed again, with the same [Effect.Key].
//
// A strategy that requests other effects than when the records were made causes a [ReplayError].
// See [Config].Strict.
//
// A run that waits can be carried over such a change: [Machine.Snapshot] returns its whole state,
// and a [Migrated] with that snapshot, changed as the code was, takes the place of all records
// before it.
//
// # What may be lost
//
// A crash loses records that were not stored. In the order of the loop:
//
//   - between apply and store: the record is lost. The effect that it answered is open again, and
//     is performed again unless it is unsafe.
//   - between store and emit: nothing of the run is lost. The events of the stored records may or
//     may not have been emitted. An engine that replays the records sees these events in Ready
//     before Advance, and may emit them a second time. Each event has a Record and an Index, which
//     are unique within the run and the same in every replay, so readers can drop duplicates. A
//     reader that must not miss any event reads the journal from the last Record that it has.
//     Events with Index 0, such as deltas, come from the engine and are lost.
//   - between emit and start: nothing is lost. The effect is open, and an unsafe call counts as
//     started as soon as its intent is stored.
//
// # Stops, waits and places
//
// A [Stopped] ends the run, or one frame of it. Queued effects and waits are closed at once.
// Effects in progress finish, or with Now they are withdrawn. Limits end frames in the same way,
// but a limit of tool calls first answers the calls of a reply that exceed it. No frame ends while
// one of its effects is open, so the run has ended only when Done returns true, not when the stop
// was applied.
//
// A run waits when [Machine.Status] is [StatusWaiting]: it needs an answer from a person. Other
// frameworks call this an interrupt. There is no record of it. An engine that cannot ask anybody
// drops the Machine, and resumes the run when the reply arrives.
//
// [Started].Parallel limits how many effects are performed at once, over all branches. Model calls,
// tool calls and remote delegations count; questions to people, and calls of agents, do not.
// Effects above the limit are queued and not yet in Ready.
//
// # Looking at a run
//
// [Machine.Frames], [Machine.Waits] and [Machine.Digest] return the state of a run and change
// nothing.
package machine
