package temporal

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// server is a Temporal server of the tests.
type server struct {
	bin, dir, address string
	cmd               *exec.Cmd
}

// program returns Temporal's own command, which starts a server.
func program(t testing.TB) string {
	t.Helper()
	bin := os.Getenv("SEGUE_TEST_TEMPORAL")
	if bin == "" {
		t.Skip("the command temporal is missing: make temporal-test installs it, or SEGUE_TEST_TEMPORAL names it")
	}
	return bin
}

// newServer starts a server of the test's own, which can be killed and started again.
func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{bin: program(t), dir: t.TempDir(), address: freeAddress(t)}
	s.start(t)
	t.Cleanup(s.kill)
	return s
}

// start starts the server with what it has kept.
func (s *server) start(t testing.TB) {
	t.Helper()
	host, port, _ := strings.Cut(s.address, ":")
	out, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer func() { _ = out.Close() }()
	s.cmd = exec.Command(s.bin, "server", "start-dev", "--headless", "--ip", host, "--port", port, "--db-filename", filepath.Join(s.dir, "t.db"), "--log-level", "error",
		// How much later the task of a workflow whose workers die again and again is given to
		// another one, at most: else it is ten minutes.
		"--dynamic-config-value", `history.workflowTaskRetryMaxInterval="5s"`)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	require.NoError(t, s.cmd.Start())
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		c, err := dial(s.address)
		if err == nil {
			_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
			c.Close()
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			t.Fatalf("the server does not start: %v\n%s", err, text)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// kill kills the server.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// shared is the server of all tests that kill none: that of TEMPORAL_ADDRESS, or one that is
// started for the first that needs it.
var shared struct {
	sync.Mutex
	*server
}

// connect returns a client of the shared server.
func connect(t testing.TB) client.Client {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	address := os.Getenv("TEMPORAL_ADDRESS")
	if address == "" {
		if shared.server == nil {
			dir, err := os.MkdirTemp("", "segue-temporal-*") //nolint:usetesting // it outlives the test
			require.NoError(t, err)
			shared.server = &server{bin: program(t), dir: dir, address: freeAddress(t)}
			shared.start(t)
		}
		address = shared.address
	}
	return clientOf(t, address)
}

// clientOf returns a client of the server at an address.
func clientOf(t testing.TB, address string) client.Client {
	t.Helper()
	c, err := dial(address)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.kill()
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// freeAddress returns an address of this host on which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func dial(address string) (client.Client, error) {
	return client.Dial(client.Options{HostPort: address, Logger: quiet{}})
}

// quiet drops what the SDK logs.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

var _ log.Logger = quiet{}
