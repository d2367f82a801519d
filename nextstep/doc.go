// Package nextstep is the protocol between a strategy and its driver. A strategy answers every call
// with one [NextStep], and is called again with the [Answer] to that step.
//
//	NextStep            performed by                 Answer             method called
//	GetChatCompletion   a model                      APIResponse        ProcessAPIResponse
//	ExecuteTools        tools, call by call          a ToolResult each  ProcessToolResults, in order
//	Delegate            Machine, or another service  DelegationResult   ProcessDelegationResult
//	Complete            Machine: the frame ends      -                  -
//	ReportError         Machine: the frame fails     -                  -
//	any, not performed  -                            Failure            ProcessFailure (optional)
//	any, run stopped    -                            -                  Conclude (optional)
//
// A tool call that could not be made is a failed or unknown result among the others. ProcessFailure
// is called only for models and delegations.
//
// Both sums are sealed and their variants are values. Steps and answers are read-only once passed
// on. Both have a versioned JSON form ([Marshal], [MarshalAnswer]). The records of a run contain
// answers without a version of their own ([AppendAnswer]).
package nextstep
