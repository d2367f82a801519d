// Package machine is one run of an agent as data. A [Machine] holds all of it: frames and branches,
// limits, waits, approvals. It changes in one way only, by [Machine.Apply], which takes a [Record];
// so a run is its records, in order. Live runs, resumes, replays, forks and inspectors all go
// through the same Apply: the same records give the same effects, events and output.
//
// A Machine does no I/O, reads no clock, draws no random number and starts no goroutine. Whoever
// drives it, here called an engine, does that. Package orchestrator is one engine; a workflow
// service, a test and an explorer are others.
//
// # The loop
//
// An engine applies records and does what [Machine.Ready] says is due: store, tell, start, in that
// order.
//
//	m := machine.New(cfg)
//	apply(cfg.Start(machine.Started{At: now(), Run: id, Strategy: name, Input: in}))
//	for {
//		for _, r := range slices.Clone(m.Ready().Intents) {
//			apply(stamped(r, now()))
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
// Here apply is m.Apply, and keeps the record for store if Apply took it. The example of this
// package is that loop, whole.
//
// # The duties of an engine
//
// Apply. Every record carries the time at which the engine made it. A record that does not fit is a
// typed error and changes nothing: it is not stored, and the right one still works. An engine that
// has such an error about an answer of its own answers the effect with a nextstep.Failure instead.
// Apply takes a record as a journal would give it back: text that is not UTF-8 is made so, and a
// provider's raw body and the causes of errors are dropped. So a live run decides as its replay
// will. The slices of a Ready are valid until the next Apply or Advance; copy Intents before
// applying them.
//
// Store. What is not stored did not happen. All that was applied is stored before anything is told
// or started: an [Intended] stands in the journal before the call that it is about is made. An
// engine that could not store throws its Machine away and goes on from what is stored.
// [AppendRecord] and [ReadRecord] are the form of a record. The first is what [Config.Start]
// returns, so that a later change of the Config changes nothing. A large answer may be kept beside
// the journal: its record holds a [Reference], and whoever reads the record puts the answer in.
//
// Tell. Events are in order, and each is told once by the engine that applied its record. The
// engine stamps their time, and may add deltas and progress of its own.
//
// Start. Each [Effect] is performed once for each time that it is handed out, in any order and side
// by side; the Machine has bounded how many. It is answered by one record, with [Effect.Answered]:
// an [Answered], or a [Suspended] if it waits for somebody and returns meanwhile. An engine that
// knows the prices of models adds what the answer has cost, with [Answered.Priced]. An effect that
// asks and goes on says so by [Asked]. An effect of kind [EffectPerson] is answered by a [Replied];
// no goroutine need wait for it.
//
// Cancel. Effects in Withdrawn are to be cut off. An effect that is performed is answered all the
// same, with what had arrived; one that was not begun is answered with NotBegun, and what it would
// have used is given back. What a person was asked is answered by nothing any more.
//
// # Resume
//
// To go on with a run, apply its stored records to a new Machine, with an Advance after each, then
// [Resumed]. What is open is in Ready again, and [Machine.Open] says it at any time. Resumed is
// stored only together with the first record behind it: looking at a run stores nothing. A call
// that is neither read-only nor idempotent, was started, and has no result is not made again: as
// [Resumed] says, a person is asked, or the strategy is told that nobody knows. Any other effect is
// performed again, with the same [Effect.Key].
//
// A strategy that asks for something else than it did when the records were made gives a
// [ReplayError]. See [Config].Strict.
//
// # What may be lost
//
// A crash loses what was not stored. In the order of the loop:
//
//   - between apply and store: the record. The effect that it answered is open again, and performed
//     again unless it is unsafe.
//   - between store and tell: nothing of the run. The events of the stored records were perhaps told
//     and perhaps not: no Machine tells them again. An engine that replays the records sees them in
//     Ready before Advance, and may tell them a second time. Each event carries Record and Index,
//     which are its own within the run and the same in every replay, so that a reader drops what it
//     knows; a reader that must miss nothing reads the journal from the last Record that it has.
//     Events with Index 0, such as deltas, are the engine's. They are lost.
//   - between tell and start: nothing. The effect is open, and an unsafe call counts as started once
//     its intent is stored.
//
// # Stops, waits and places
//
// A [Stopped] ends the run, or one frame of it. What is queued or waits is closed at once; what is
// performed comes to its end, or with Now is withdrawn. Limits end frames in the same way. Nothing
// ends over an effect that is open, so the run has ended only when Done says so, and not when the
// stop was applied.
//
// A run waits when [Machine.Status] is [StatusWaiting]: only people can bring it further. That is
// no record. An engine that can ask nobody lets go of the Machine; the run is resumed with the
// reply.
//
// [Started].Parallel bounds the effects that are performed at once over all branches. Models, tools
// and remotes hold a place; people do not, nor does a call that branches answer. What waits for a
// place is not in Ready yet.
//
// # Looking at a run
//
// [Machine.Frames], [Machine.Waits], [Machine.Left] and [Machine.Digest] tell how a run stands and
// change nothing.
package machine
