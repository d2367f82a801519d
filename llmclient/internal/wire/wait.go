package wire

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter limits the wait that a server can ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter returns how long the server asks to wait. It reads Retry-After-Ms (OpenAI, Azure) or
// Retry-After, in seconds or as a date (RFC 9110, section 10.2.3), and takes the first that asks
// for a wait. It returns 0 if neither does.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && wait(ms*float64(time.Millisecond)) > 0 {
		return wait(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(s * float64(time.Second))
	}
	if date, err := http.ParseTime(value); err == nil {
		return wait(float64(date.Sub(now)))
	}
	return 0
}

func wait(ns float64) time.Duration {
	if math.IsNaN(ns) || ns < 0 {
		return 0
	}
	return time.Duration(min(ns, float64(maxRetryAfter)))
}

// asksWait matches what asks for a wait: "try again in 6m0s", "please wait 23 seconds", or the
// field "retryDelay": "44s". amounts matches the parts of the wait.
var (
	asksWait = regexp.MustCompile(`(?i)(?:\b(?:try again|retry|wait)(?: (?:in|after|for|about|at least|another))* |retryDelay[\s"'\\:]+)` +
		`((?:\d+(?:\.\d+)? ?[a-z]+(?:,? (?:and )?)?)+)`)
	amounts = regexp.MustCompile(`(\d+(?:\.\d+)?) ?([a-z]+)`)
)

// waitIn returns the wait that a text asks for; 0 if it asks for none.
func waitIn(text string) time.Duration {
	ns := 0.0
	if asked := asksWait.FindStringSubmatch(text); asked != nil {
		for _, part := range amounts.FindAllStringSubmatch(strings.ToLower(asked[1]), -1) {
			n, _ := strconv.ParseFloat(part[1], 64) // infinite if there are too many digits
			unit := unitOf(part[2])
			if unit == 0 {
				break
			}
			ns += n * float64(unit)
		}
	}
	return wait(ns)
}

// unitOf returns the unit of time with a name, in lower case; 0 if there is none.
func unitOf(name string) time.Duration {
	switch name {
	case "ms", "msec", "msecs", "millisecond", "milliseconds":
		return time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	default:
		return 0
	}
}
