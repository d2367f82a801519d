//go:build unix

package mcptools

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the first of a process group, which a Ctrl-C in the terminal does not
// reach.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// killLeft kills the children of a command that has ended.
func killLeft(cmd *exec.Cmd) { killGroup(cmd) }
