package config

import (
	"errors"
	"time"
)

// IdleTimeoutVariable is the environment variable of the idle timeout of all models. It overrides
// configurations.
const IdleTimeoutVariable = "SEGUE_IDLE_TIMEOUT"

// NoTimeout is the word for an idle timeout that never ends a request.
const NoTimeout = "none"

// ParseIdleTimeout reads an idle timeout: a duration above zero, such as 90s, or [NoTimeout]. It
// returns 0 for "", and a negative duration for NoTimeout.
func ParseIdleTimeout(text string) (time.Duration, error) {
	switch text {
	case "":
		return 0, nil
	case NoTimeout:
		return -1, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration above zero, such as 90s or 10m, or none")
	}
	return d, nil
}
