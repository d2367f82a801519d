// Package runs works with whole runs of a store: it compares, forks, exports and imports them. It
// reads their journals with the strategies of an Orchestrator, and disturbs nobody who works on
// them.
//
//	difference, err := runs.Diff(ctx, o, key)     // what a change of a prompt would change
//	head, err := runs.Fork(ctx, o, runs.ForkConfig{From: key, At: 3})
//	err := runs.Export(ctx, o, key, file)
//	head, err := runs.Import(ctx, o, file)
//
// What a run was is told again by [orchestrator.Orchestrator.Replay], and while it goes on by
// [orchestrator.Orchestrator.Follow].
package runs
