package temporal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// A run may have any id that a store takes, also one that is no id for Temporal.
func TestStart_ids(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	work(t, e)
	now := time.Now().String()
	for _, key := range []checkpoint.Key{
		{Run: "ünï☃ " + now},
		{Run: "two\nlines" + now},
		{Run: "//" + now},
		{Namespace: strings.Repeat("/", checkpoint.MaxRunID), Run: now + strings.Repeat("r", 400)},
	} {
		one := task(1, "look")
		one.Run, one.Namespace = key.Run, key.Namespace
		_, err := e.Start(soon(t), one)
		require.NoError(t, err)
		res, err := e.Result(soon(t), key)
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, res.Status)
	}
}
