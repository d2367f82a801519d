package asktime_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/asktime"
)

// Questions that are open at the same time count once.
func TestTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var total asktime.Total
		require.Zero(t, total.Sum())
		first := total.Begin()
		time.Sleep(time.Minute)
		second := total.Begin()
		time.Sleep(time.Minute)
		first()
		require.Equal(t, 2*time.Minute, total.Sum(), "until now")
		time.Sleep(time.Minute)
		second()
		time.Sleep(time.Minute)
		require.Equal(t, 3*time.Minute, total.Sum())
		total.Begin()()
		require.Equal(t, 3*time.Minute, total.Sum())
	})
}
