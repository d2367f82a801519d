// Package waittest bounds what tests wait for, so that one that hangs says where, and the others of
// its package are made.
package waittest

import (
	"os/exec"
	"sync"
	"testing"
	"time"
)

// Most is how long a test waits for what happens at once, on a machine with much to do.
const Most = 2 * time.Minute

// Receive returns what comes from a channel, or its zero value once it is closed.
func Receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Most):
		t.Fatalf("nothing has come for %v", Most)
		panic("unreachable")
	}
}

// All waits until a group has ended.
func All(t testing.TB, group *sync.WaitGroup) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		group.Wait()
	}()
	Receive(t, ended)
}

// Exit returns how a process has ended, and kills one that does not.
func Exit(t testing.TB, cmd *exec.Cmd) error {
	t.Helper()
	kill := time.AfterFunc(Most, func() {
		t.Errorf("%s has not ended for %v", cmd, Most)
		_ = cmd.Process.Kill()
	})
	defer kill.Stop()
	return cmd.Wait()
}
