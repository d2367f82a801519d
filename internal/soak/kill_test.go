package soak

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
)

// seedOf returns the seed of a test, and prints it.
func seedOf(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64N(1_000_000)
	if text := os.Getenv("SOAK_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SOAK_SEED=%d", seed)
	return seed
}

// A process with eight runs in flight is killed at random instants, again and again, also while it
// recovers runs. Every record that was acknowledged is there, every run ends as it does uncut, and
// no effect of a call that is neither read-only nor idempotent comes twice unless a person says so.
func TestKill9(t *testing.T) {
	for kind, kills := range map[string]int{"sqlite": prove.DepthOr(5, 10), "postgres": prove.DepthOr(3, 5)} {
		t.Run(kind, func(t *testing.T) {
			c := newCampaign(t, newStore(t, kind), seedOf(t), 150*time.Millisecond)
			began := time.Now()
			most := 500 * time.Millisecond
			for c.Kills < kills || c.Recovering == 0 && most < 10*time.Second {
				c.round(most)
				if c.Kills%kills == 0 {
					most *= 2 // the machine is so busy that each process died before it took up a run
				}
			}
			c.finish()
			t.Logf("%v: %+v", time.Since(began).Round(time.Second), c.figures)
			require.Positive(t, c.Runs)
			require.Positive(t, c.Recovering, "no kill has hit a recovery")
		})
	}
}
