//go:build unix

package mcptools_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/tools/mcptools"
)

// A server that does not hear its end is killed, with its children.
func TestHostile_deaf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	set := connectHostile(t, "deaf", func(c *mcptools.Config) { c.Env = append(c.Env, "MCPTOOLS_PIDS="+file) })
	require.True(t, callFirst(t, set).OK())
	var server, child int
	require.Eventually(t, func() bool {
		data, _ := os.ReadFile(file)
		n, _ := fmt.Sscan(string(data), &server, &child)
		return n == 2
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, set.Close())
	for _, pid := range []int{server, child} {
		require.Eventually(t, func() bool { return dead(pid) }, time.Minute, 10*time.Millisecond, "process %d", pid)
	}
}

// dead reports whether a process has ended; a zombie that nobody has waited for has, too.
func dead(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
