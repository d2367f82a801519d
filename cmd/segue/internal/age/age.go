// Package age reads and writes ages, such as 30d.
package age

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// DefaultKeep is how long runs are kept after their end if nothing says otherwise.
const DefaultKeep = 30 * 24 * time.Hour

// Text returns a duration in its largest whole unit, such as 3h or 30d.
func Text(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(0, d); {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 2*day:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	default:
		return strconv.Itoa(int(d/day)) + "d"
	}
}

// maxAge is the longest age, in days.
const maxAge = 36500

// Parse reads an age: a number of seconds, minutes, hours, days or weeks, such as 12h or 30d.
func Parse(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	err := errors.New("must be an age, such as 12h, 30d or 8w")
	if text == "" || strings.TrimLeft(text[:len(text)-1], "0123456789") != "" {
		return 0, err
	}
	unit, ok := units[text[len(text)-1]]
	n, problem := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if !ok || problem != nil || n > int64(maxAge*24*time.Hour/unit) {
		return 0, err
	}
	return time.Duration(n) * unit, nil
}
