package orchestrator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove/installed"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// a2aSDK is the server's library, in the version that these tests were written for.
const a2aSDK = "1.3.0"

// painter is an A2A server in a process of its own, by its address.
type painter string

// startPainter starts the server.
func startPainter(t *testing.T) painter {
	t.Helper()
	python, packages := installed.PyPI(t, "a2a-sdk-"+a2aSDK, "a2a-sdk[http-server]=="+a2aSDK, "uvicorn==0.54.0")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := free.Addr().(*net.TCPAddr)
	require.NoError(t, free.Close())
	server := exec.Command(python, "testdata/a2a/server.py", fmt.Sprint(at.Port))
	server.Env = append(os.Environ(), packages, "PYTHONDONTWRITEBYTECODE=1")
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	require.NoError(t, server.Start())
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = server.Wait()
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-exited
	})
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", at.String()); err == nil {
			require.NoError(t, c.Close())
			return painter("http://" + at.String() + "/")
		}
		select {
		case <-exited:
			require.Fail(t, "the A2A server ended", "%s", said.Bytes())
		default:
			require.True(t, time.Now().Before(until), "the A2A server does not listen")
		}
	}
}

// a2aTask is a task of the server.
type a2aTask struct {
	ID     string
	Status struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
	Artifacts []struct{ Parts []struct{ Text string } }
}

// call makes a request of the protocol.
func (p painter) call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(p), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var reply struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return err
	}
	if reply.Error != nil {
		return errors.New(string(reply.Error))
	}
	return json.Unmarshal(reply.Result, result)
}

// send sends a text to a task; "" makes a task. The key of the delegation is the context of the task.
func (p painter) send(ctx context.Context, task, text string) (a2aTask, error) {
	key := tools.IdempotencyKey(ctx)
	message := map[string]any{"messageId": key + task, "contextId": key, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	if task != "" {
		message["taskId"] = task
	}
	var sent struct{ Task a2aTask }
	err := p.call(ctx, "SendMessage", map[string]any{"message": message}, &sent)
	return sent.Task, err
}

// list returns the tasks of a context; "" means all.
func (p painter) list(ctx context.Context, key string) ([]a2aTask, error) {
	var found struct{ Tasks []a2aTask }
	params := map[string]any{}
	if key != "" {
		params["contextId"] = key
	}
	err := p.call(ctx, "ListTasks", params, &found)
	return found.Tasks, err
}

// remote delegates to the server. It looks the task up by the key before it makes one.
func (p painter) remote(ctx context.Context, step nextstep.Delegate) (delegation.Output, error) {
	if r, ok := tools.Resumed(ctx); ok {
		var id string
		if err := json.Unmarshal(r.State, &id); err != nil {
			return delegation.Output{}, err
		}
		if r.Answers[0].Err != nil {
			return delegation.Output{}, r.Answers[0].Err
		}
		done, err := p.send(ctx, id, r.Answers[0].Text)
		if err != nil {
			return delegation.Output{}, err
		}
		return answering(done.Artifacts[0].Parts[0].Text)
	}
	tasks, err := p.list(ctx, tools.IdempotencyKey(ctx))
	if err == nil && len(tasks) == 0 {
		tasks = make([]a2aTask, 1)
		tasks[0], err = p.send(ctx, "", step.Input.Goal)
	}
	if err != nil {
		return delegation.Output{}, err
	}
	id, err := json.Marshal(tasks[0].ID)
	if err != nil {
		return delegation.Output{}, err
	}
	return delegation.Output{}, tools.Suspend(ctx, id, tools.Question{Text: tasks[0].Status.Message.Parts[0].Text})
}

// A run delegates to a server of the a2a-sdk that asks a question: the answer of a person reaches
// the task, and the task is made once, even if the process dies before the remote has answered.
func TestRemote_a2a(t *testing.T) {
	server := startPainter(t)
	store, left := new(checkpoint.Memory), new(checkpoint.Memory)
	dies := func(ctx context.Context, step nextstep.Delegate) (delegation.Output, error) {
		defer copyRun(t, store, left, func(machine.Record) bool { return true })
		return server.remote(ctx, step)
	}
	_, err := delegating(t, store, dies).Run(t.Context(), task("paint"))
	require.NoError(t, err)

	o := delegating(t, left, server.remote)
	res := goOn(t, o, "r")
	require.Equal(t, machine.StatusWaiting, res.Status, "%v", res.Output.Err)
	require.Equal(t, "Which colour?", res.Waits[0].Text)
	res = goOn(t, delegating(t, left, server.remote), "r", answersTo(res, "green")...)
	require.Equal(t, machine.StatusDone, res.Status, "%v", res.Output.Err)
	require.Equal(t, "painted green", res.Output.Text())

	tasks, err := server.list(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	require.Equal(t, "TASK_STATE_COMPLETED", tasks[0].Status.State)
}
