package temporal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
)

// eachStore runs a test with a store beside Temporal, and with one in Temporal itself.
func eachStore(t *testing.T, do func(*testing.T, checkpoint.Store)) {
	t.Run("beside", func(t *testing.T) { do(t, new(checkpoint.Memory)) })
	t.Run("within", func(t *testing.T) { do(t, &Store{Client: connect(t), Queue: t.Name()}) })
}

// apart has workflows of its own: their ids have a prefix.
type apart struct {
	client.Client
	prefix string
}

func (a apart) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	o.WorkflowID = a.prefix + o.WorkflowID
	return a.Client.UpdateWorkflow(ctx, o)
}

func (a apart) NewWithStartWorkflowOperation(o client.StartWorkflowOptions, workflow any, arguments ...any) client.WithStartWorkflowOperation {
	o.ID = a.prefix + o.ID
	return a.Client.NewWithStartWorkflowOperation(o, workflow, arguments...)
}

func (a apart) UpdateWithStartWorkflow(ctx context.Context, o client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	o.UpdateOptions.WorkflowID = a.prefix + o.UpdateOptions.WorkflowID
	return a.Client.UpdateWithStartWorkflow(ctx, o)
}

func (a apart) QueryWorkflow(ctx context.Context, id, run, query string, arguments ...any) (converter.EncodedValue, error) {
	return a.Client.QueryWorkflow(ctx, a.prefix+id, run, query, arguments...)
}

// A Store in Temporal itself keeps the contract of stores.
func TestStore_conforms(t *testing.T) {
	t.Parallel()
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	work(t, e)
	checkpointtest.Test(t, func(*testing.T) checkpoint.Store {
		return &Store{Client: apart{e.Client, rand.Text()}, Queue: e.Queue}
	})
}

// A run that is too large for a Store in Temporal itself fails, and its result says why. Its
// records can be read, and no longer be written.
func TestStore_tooLarge(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{MaxRun, MaxBatch / 2} { // of each reply
		store := &Store{Client: connect(t), Queue: t.Name()}
		s := &scene{store: store, model: func(*llmclient.Request) scripted.Reply {
			reply := scripted.Calls(scripted.Call("look", fmt.Sprintf(`{"mark":%q}`, rand.Text()), ""))
			text := make([]byte, bytes/2)
			_, _ = rand.Read(text)
			reply.Text = hex.EncodeToString(text)
			return reply
		}}
		e := s.engine(t, store.Client)
		work(t, e)
		key, err := e.Start(soon(t), task(1, "look"))
		require.NoError(t, err)
		_, err = e.Result(soon(t), key)
		require.ErrorContains(t, err, "in Temporal itself a run has at most 1048576 bytes, and a batch 131072")
		status, _, _ := history(t, e.Client, key)
		require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_FAILED, status)
		head, err := store.Head(soon(t), key)
		require.NoError(t, err)
		require.NotZero(t, head.Last, "what there was can be read")
		for ctx := soon(t); !errors.Is(err, checkpoint.ErrReadOnly); { // once its workflow has ended
			require.NoError(t, ctx.Err())
			err = store.Append(ctx, checkpoint.Batch{Key: key, Records: []checkpoint.Record{{Seq: 99, Type: "t"}}, Epoch: head.Epoch})
		}
	}
}

// Where there is no room, what was appended may be appended again, what others wrote is a conflict,
// and taken messages make room. Many large messages at once leave the workflow alive.
func TestStore_room(t *testing.T) {
	t.Parallel()
	store := &Store{Client: connect(t), Queue: t.Name()}
	work(t, (&scene{store: store}).engine(t, store.Client))
	key := checkpoint.Key{Run: rand.Text()}
	appends := func(seq, bytes int, taken ...string) error {
		return store.Append(soon(t), checkpoint.Batch{
			Key: key, Header: &checkpoint.Header{Status: checkpoint.StatusRunning}, Writer: "w", Taken: taken,
			Records: []checkpoint.Record{{Seq: seq, Type: "t", Data: make([]byte, bytes)}},
		})
	}
	require.NoError(t, appends(1, 1))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			err := store.Post(soon(t), checkpoint.Message{ID: fmt.Sprint(i), Key: key, Data: make([]byte, MaxBatch-besides)})
			assert.True(t, err == nil || errors.Is(err, checkpoint.ErrTooLarge), "%v", err)
		})
	}
	waittest.All(t, &all)
	posted, err := store.Posted(soon(t), key)
	require.NoError(t, err)
	require.Len(t, posted, MaxRun/MaxBatch-1)
	for i, m := range posted {
		require.NoError(t, appends(2+i, MaxBatch-2*besides, m.ID))
	}
	last := 1 + len(posted)
	require.NoError(t, appends(last+1, MaxBatch-2*besides))
	require.ErrorIs(t, appends(last+2, MaxBatch/2), checkpoint.ErrTooLarge)
	require.NoError(t, appends(last+1, MaxBatch-2*besides), "again")
	require.ErrorIs(t, appends(last, MaxBatch/2), checkpoint.ErrConflict)
	require.NoError(t, store.Append(soon(t), checkpoint.Batch{Key: key, Header: &checkpoint.Header{Status: checkpoint.StatusDone}}))
}

// The workflow that holds records goes on in a new one with all that it holds.
func TestStore_continued(t *testing.T) {
	from, key := held{Version: storeVersion}, checkpoint.Key{Run: "r"}
	var first standing
	for n := 1; n <= 3; n++ {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(quiet{})
		env := suite.NewTestWorkflowEnvironment()
		env.SetWorkflowRunTimeout(time.Hour)
		(&Engine{Queue: "agents"}).register(env)
		update := func(name string, argument any) {
			env.UpdateWorkflow(name, rand.Text(), &testsuite.TestUpdateCallback{
				OnAccept: func() {}, OnReject: func(err error) { t.Error(err) },
				OnComplete: func(_ any, err error) { require.NoError(t, err) },
			}, argument)
		}
		env.RegisterDelayedCallback(func() {
			update(appendUpdate, batchOf(&checkpoint.Batch{
				Key: key, Records: []checkpoint.Record{{Seq: n, Type: "t", Data: []byte{byte(n)}}}, Header: &checkpoint.Header{Status: checkpoint.StatusRunning},
				Writer: "w", Epoch: 1, Lease: time.Hour,
			}))
			update(postUpdate, message{Version: storeVersion, ID: fmt.Sprint(n), Data: []byte("m")})
		}, time.Second)
		env.RegisterDelayedCallback(func() {
			env.SetContinueAsNewSuggested(true)
			env.SignalWorkflow("wake", nil)
		}, time.Minute)
		env.ExecuteWorkflow(recordsName, from)
		more, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
		require.True(t, ok, "%v", env.GetWorkflowError())
		from = held{}
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(more.Input, &from))
		h := holderOf(&from)
		require.Equal(t, 2*(n+n*besides), h.size, "a byte of each record and message")
		require.Len(t, h.records, n)
		require.Equal(t, []byte{byte(n)}, h.records[n-1].Data)
		if n == 1 {
			first = h.at
		}
		require.Len(t, h.at.Inbox, n)
		require.Equal(t, first.Head.Created, h.at.Head.Created)
		require.Equal(t, "w", h.at.Head.Lease.Writer)
	}
}
