package tools

// ReadResultName is the name of the tool that reads the results which an orchestrator has kept,
// because they were too large to be shown. Results name it, so it is offered wherever it may be
// used.
const ReadResultName = "read_result"
