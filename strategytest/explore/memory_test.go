package explore

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A visited state costs at most 200 bytes, with what its list and its table hold ready.
func TestState_bytes(t *testing.T) {
	const states = 150_000
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	x := newExploration(nil, Options{})
	for i := range uint64(states) {
		var k stateKey
		binary.LittleEndian.PutUint64(k[:], i)
		x.seen[k] = 1
		x.nodes = append(x.nodes, node{depth: 1})
	}
	bytes := float64(held()-before) / states
	runtime.KeepAlive(x)
	t.Logf("%.0f bytes a state", bytes)
	require.Less(t, bytes, 200.0)
	require.Greater(t, bytes, 30.0)
}
