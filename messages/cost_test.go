package messages_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
)

func TestCost_String(t *testing.T) {
	for want, c := range map[string]messages.Cost{
		"$0.00": 0, "$0.000001": 1, "$0.50": 50 * messages.Cent, "$2.00": 2 * messages.Dollar, "$1.234": 1_234_000, "$10.00": 10 * messages.Dollar,
		"-$0.25": -25 * messages.Cent, "$9223372036854.775807": messages.MaxCost, "-$9223372036854.775808": math.MinInt64,
	} {
		require.Equal(t, want, c.String())
	}
	require.Equal(t, messages.MaxCost, messages.MaxCost.Add(1))
}
