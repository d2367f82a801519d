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
	Set     Verdict = "set"    // works in another way, or with a setting
	Broken  Verdict = "broken" // does not work
)

var verdicts = []Verdict{Skipped, OK, Set, Broken}

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
	Ways     []Way          `json:"ways"`     // in which tool calls were tried; the first is that of the server
	Choice   *Way           `json:"choice"`   // the one that policy: auto takes; nil if they were not tried to the end
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

// Way is a way in which the model can call tools, and how far it came with it.
type Way struct {
	Policy   string `json:"policy"`            // the text format; "" is the server's own way
	Called   bool   `json:"called"`            // a call came with what its tool needs
	InText   bool   `json:"in_text,omitempty"` // the server left the call in the text, where segue reads it
	Answered bool   `json:"answered"`          // the model made its answer of the result
	Problem  string `json:"problem,omitempty"` // what went wrong
}

// Finding is something to set, or broken.
type Finding struct {
	Name     string  `json:"name"`
	Verdict  Verdict `json:"verdict"`
	Measured string  `json:"measured"`
	Advice   string  `json:"advice"` // what to do, or to set
}
