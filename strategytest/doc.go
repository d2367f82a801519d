// Package strategytest tests strategies, also your own. [Conform] explores a strategy with all
// kinds of answers to its steps, and checks the contract of package strategy. [Stories] runs
// scripts and compares what happens in the runs with the expected output. [Ways] makes the runs of
// those scripts in every possible way; all of them must end in the same way. [RequireCoverage]
// fails if there are transitions of a strategy's table that they did not take.
package strategytest
