// Package strategytest tests strategies, anyone's: [Conform] explores one against everything that
// can be answered to its steps and holds it to the contract of package strategy, [Stories] runs
// scripts that say what happens in a run and compares it with what is written down, and [Ways]
// makes the runs of those scripts in every way in which a run can be made: they all have to end
// alike.
package strategytest
