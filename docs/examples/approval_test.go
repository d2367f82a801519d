package examples

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
)

// A visitor is asked, says yes, and gets the answer; another one says no. Here without a browser.
func TestApproval(t *testing.T) {
	t.Parallel()
	p := newProvider(t,
		reply{tool: "send", arguments: `{"To":"bob","Text":"<hi>"}`}, reply{text: "Bob has it."},
		reply{tool: "send", arguments: `{"To":"eve","Text":"hi"}`}, reply{text: "Then not."})
	site, log := approvalSite(t, p)
	for _, approve := range []bool{true, false} {
		run, asked := post(t, site+"/tasks", map[string]any{"goal": "write"})
		require.Equal(t, machine.StatusWaiting, asked.Status)
		require.Len(t, asked.Waits, 1)
		require.Equal(t, "May send be called?", asked.Waits[0].Text)
		answer := machine.Reply{WaitID: asked.Waits[0].ID, Approve: approve}
		_, done := post(t, site+"/replies", map[string]any{"run": run, "replies": []machine.Reply{answer}})
		require.Equal(t, map[bool]string{true: "Bob has it.", false: "Then not."}[approve], done.Output.Text())
	}
	require.Contains(t, log.String(), "to bob: <hi>")
	require.NotContains(t, log.String(), "eve")
}

// output is what a process has written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// approvalSite starts the web app and returns its address and what it logs.
func approvalSite(t *testing.T, p *provider) (string, *output) {
	t.Helper()
	address := freeAddress(t)
	log, _ := p.serve(t, t.TempDir(), "approval", address)
	return "http://" + address, log
}

func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	return free.Addr().String()
}

// serve starts a program that serves, and returns what it logs, and what kills it.
func (p *provider) serve(t *testing.T, dir, name, address string) (log *output, kill func()) {
	t.Helper()
	cmd := p.command(t, dir, name, "-address", address)
	log = new(output)
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	kill = sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = waittest.Exit(t, cmd) })
	t.Cleanup(kill)
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + address)
		if err == nil {
			err = resp.Body.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond, "%s", log)
	return log, kill
}

// post posts a body, and returns the run that it is for and how the run ended.
func post(t *testing.T, to string, body any) (string, machine.RunFinished) {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	resp, err := http.Post(to, "application/json", bytes.NewReader(data))
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	stream, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", stream)
	_, last, found := strings.Cut(string(stream), "\nevent: run_finished\ndata: ")
	require.True(t, found, "%s", stream)
	var e machine.Event
	require.NoError(t, json.Unmarshal([]byte(last), &e))
	return e.Run, e.Detail.(machine.RunFinished)
}
