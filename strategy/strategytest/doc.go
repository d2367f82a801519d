// Package strategytest tests strategies, anyone's: [Conform] explores one against everything that can be answered to its
// steps and holds it to the contract of package strategy, and [Stories] runs scripts that say what happens in a run and
// compares it with what is written down.
package strategytest
