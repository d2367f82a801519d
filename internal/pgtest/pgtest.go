// Package pgtest starts PostgreSQL servers for tests, in temporary folders.
package pgtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Variable is the environment variable whose value, if it has one, is how to connect to a server
// that is there already.
const Variable = "SEGUE_TEST_POSTGRES"

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// unflushed are settings with which commits do not wait for the disk. They lose nothing unless the
// machine stops, which no test has happen.
var unflushed = []string{"-c", "fsync=off", "-c", "full_page_writes=off"}

// URL returns how to connect to the server that the tests of a package share: that of the
// environment, or one that is started with the first call. It skips the test if there is neither.
// That server flushes nothing to the disk, unless a benchmark has it started.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(Variable); url != "" {
		return url
	}
	shared.once.Do(func() {
		settings := unflushed
		if _, measured := t.(*testing.B); measured {
			settings = nil
		}
		shared.server, shared.err = start(settings...)
	})
	skip(t, shared.err)
	return shared.server.URL()
}

// Stop stops the server that the tests share, if it was started. It is for TestMain.
func Stop() {
	if shared.server != nil {
		shared.server.remove()
	}
}

// Start starts a server for a test alone, which may kill it. It skips the test where it cannot.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := start()
	skip(t, err)
	t.Cleanup(s.remove)
	return s
}

// missing is what a machine has not, that a server needs.
type missing string

func (m missing) Error() string { return string(m) }

func skip(t testing.TB, err error) {
	t.Helper()
	var without missing
	switch {
	case errors.As(err, &without):
		t.Skipf("there is no PostgreSQL: %s; install it, or say in %s how to connect to one", without, Variable)
	case err != nil:
		t.Fatal(err)
	}
}

// Server is a PostgreSQL server with a folder of its own. It is reached by a socket in it.
type Server struct {
	bin  string // the folder of its programs
	dir  string
	as   *user.User // nil: whoever runs the test
	proc *exec.Cmd
	end  func() // ends it in good order

	settings []string // options that set what differs from the defaults
}

// start makes a server and starts it.
func start(settings ...string) (s *Server, err error) {
	s = &Server{settings: settings}
	if s.bin, err = programs(); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if s.as, err = user.Lookup("postgres"); err != nil {
			return nil, missing("it does not run as root, and there is no user postgres")
		}
	}
	if s.dir, err = os.MkdirTemp("", "segue-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.remove()
		}
	}()
	if s.as != nil {
		uid, gid := ids(s.as)
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return nil, err
		}
	}
	out, err := s.command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.Start()
}

// programs returns the folder of the programs of the newest PostgreSQL that is found.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/initdb", "/usr/pgsql-*/bin/initdb", "/opt/homebrew/opt/postgresql@*/bin/initdb"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		found = append(found, names...)
	}
	if len(found) == 0 {
		return "", missing("no initdb in PATH, nor where packages put it")
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return number(a) - number(b) })), nil
}

// number returns the first number in a path.
func number(path string) int {
	digits := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(digits[0]) // 0 is as good as any other
	return n
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// URL returns how to connect to the server.
func (s *Server) URL() string {
	return fmt.Sprintf("host=%s user=postgres dbname=postgres sslmode=disable", s.dir)
}

// Start starts the server, if it was stopped or killed, and waits until it can be connected to.
// What is left of one that was killed is waited for, too.
func (s *Server) Start() error {
	var err error
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		if err = s.try(until); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return fmt.Errorf("the server cannot be started: %w\n%s", err, log)
}

// ends ends the server when it is told to by a line, and with its folder when this process ends
// without one.
const ends = `exec 3<&0
"$0" "$@" >>log 2>&1 </dev/null 3<&- & server=$!
(read -r line <&3 || : >forgotten; kill -INT $server) 2>/dev/null & reader=$!
wait $server; code=$?
kill $reader 2>/dev/null
[ -e forgotten ] && rm -rf "$PWD"
exit $code`

// try starts the server, and returns once it can be connected to, or has ended.
func (s *Server) try(until time.Time) error {
	program := []string{filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=200"}
	proc := s.command("/bin/sh", slices.Concat([]string{"-c", ends}, program, s.settings)...)
	in, err := proc.StdinPipe()
	if err != nil {
		return err
	}
	if err := proc.Start(); err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = proc.Wait()
	}()
	s.proc = proc
	s.end = func() {
		_, _ = io.WriteString(in, "stop\n") // it may have ended already
		_ = in.Close()
		<-over
	}
	for time.Now().Before(until) {
		select {
		case <-over:
			return errors.New("it has ended")
		case <-time.After(20 * time.Millisecond):
		}
		if s.answers() == nil {
			return nil
		}
	}
	return errors.New("it does not answer")
}

// answers asks the server, as a client does that connects, whether it takes connections.
func (s *Server) answers() error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(context.Background(), "unix", filepath.Join(s.dir, ".s.PGSQL.5432"))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing was begun
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	const settings, version = "user\x00postgres\x00database\x00postgres\x00\x00", 3 << 16
	hello := binary.BigEndian.AppendUint32(nil, uint32(8+len(settings)))
	hello = append(binary.BigEndian.AppendUint32(hello, version), settings...)
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		return err
	}
	if first[0] != 'R' { // it is about to start, or to end
		return errors.New("it takes no connections")
	}
	return nil
}

// Stop ends the server in good order: what it was about is rolled back, and connections are closed.
func (s *Server) Stop() {
	if s.end != nil {
		s.end()
	}
}

// Kill kills the first process of the server, as kill -9 does. The others find that out themselves.
func (s *Server) Kill() error {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		return err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil {
		return err
	}
	s.end()
	return nil
}

// remove ends the server and deletes its folder.
func (s *Server) remove() {
	s.Stop()
	_ = os.RemoveAll(s.dir)
}
