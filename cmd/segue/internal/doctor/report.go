package doctor

import (
	"time"

	"github.com/segue-go/segue/messages"
)

// Verdict says how well something works, from the best to the worst.
type Verdict string

// The verdicts.
const (
	Skipped Verdict = "skipped" // not asked, because of an earlier finding
	OK      Verdict = "ok"
	Copes   Verdict = "copes"  // unusual, but segue copes with it: nothing is to be done
	Set     Verdict = "set"    // works in another way, or with a setting
	Broken  Verdict = "broken" // does not work
)

var verdicts = []Verdict{Skipped, OK, Copes, Set, Broken}

// worse returns the worse of two verdicts.
func worse(a, b Verdict) Verdict {
	for _, v := range verdicts {
		if v == a {
			return b
		}
		if v == b {
			return a
		}
	}
	return a
}

// Report is the result of an examination.
type Report struct {
	Server   string         `json:"server"` // the base URL, without user, password and query
	Model    string         `json:"model"`
	Verdict  Verdict        `json:"verdict"` // the worst of the checks
	Checks   []Check        `json:"checks"`
	Requests int            `json:"requests"` // to the model
	Usage    messages.Usage `json:"usage"`    // with estimates where the server does not report it
	Cost     *messages.Cost `json:"cost"`     // in millionths of a dollar; nil if the model has no known price
	Elapsed  time.Duration  `json:"elapsed"`  // in nanoseconds
}

// Check is one thing that was examined.
type Check struct {
	Name     string    `json:"name"`
	Verdict  Verdict   `json:"verdict"` // the worst of the findings; ok if there are none
	Measured string    `json:"measured"`
	Findings []Finding `json:"findings"`
}

// Finding is something unusual or broken. Its name is one of [Known].
type Finding struct {
	Name     string  `json:"name"`
	Rule     string  `json:"rule,omitempty"` // of docs/internal/scenarios.md, such as W-10
	Verdict  Verdict `json:"verdict"`
	Measured string  `json:"measured"`
	Advice   string  `json:"advice"` // what segue does about it, or what to set
}
