package temporal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

func TestRun(t *testing.T) {
	c := connect(t)
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, c)
	work(t, e)
	key, err := e.Start(soon(t), orchestrator.Task{Input: delegation.Input{Goal: goal(3, "look", "put", "pay")}})
	require.NoError(t, err)
	res, err := e.Result(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
	require.Equal(t, "finished", res.Output.Text())
}
