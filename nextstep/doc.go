// Package nextstep is the protocol between a strategy and whoever drives it: a strategy answers
// every call with one [NextStep], and is called again with the [Answer] to that step.
//
//	NextStep             performed by                       Answer             method called
//	GetChatCompletion    a model                            APIResponse        ProcessAPIResponse
//	ExecuteTools         tools, call by call                a ToolResult each  ProcessToolResults, with all in call order
//	Delegate             the Machine, or another service    DelegationResult   ProcessDelegationResult
//	Complete             the Machine: the frame ends        -                  -
//	ReportError          the Machine: the frame fails       -                  -
//	any, not performed   -                                  Failure            ProcessFailure, where there is one
//	any, run stopped     -                                  -                  Conclude, where there is one
//
// A call that could not be made is a failed or unknown result among the others: ProcessFailure
// hears of models and delegations.
//
// Both sums are sealed and their variants are values. Steps and answers are read-only once handed
// over, and both have a versioned JSON form ([Marshal], [MarshalAnswer]). The records of a run hold
// answers without a version of their own ([AppendAnswer]).
package nextstep
