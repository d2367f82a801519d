// Package nextstep is the protocol between a strategy and whoever drives it: a strategy answers
// every call with one [NextStep], and is called again with the [Answer] to that step.
//
//	NextStep             performed by                       Answer             method called
//	GetChatCompletion    a model                            APIResponse        ProcessAPIResponse
//	ExecuteTools         tools; results in call order       ToolResults        ProcessToolResults
//	Delegate             the Machine, or another service    DelegationResult   ProcessDelegationResult
//	Complete             the Machine: the frame ends        -                  -
//	ReportError          the Machine: the frame fails       -                  -
//	any, not performed   -                                  Failure            ProcessFailure, where there is one
//	any, run stopped     -                                  Stop               Conclude, where there is one
//
// Both sums are sealed and their variants are values. Steps and answers are read-only once handed
// over, and both have a versioned JSON form ([Marshal], [MarshalAnswer]): a run is its input plus
// its answers.
package nextstep
