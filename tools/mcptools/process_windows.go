package mcptools

import (
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup makes the command the first of a process group, which a Ctrl-C in the console does not
// reach.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup does nothing: Windows has no signal for it, and the closed input was the request.
func terminateGroup(*exec.Cmd) {}

// killGroup ends the command and the processes that it started.
func killGroup(cmd *exec.Cmd) {
	pid := strconv.Itoa(cmd.Process.Pid)
	_ = exec.Command("taskkill", "/T", "/F", "/PID", pid).Run() //nolint:noctx // it ends by itself
	_ = cmd.Process.Kill()
}

// killLeft does nothing: the children of a process that has ended cannot be found.
func killLeft(*exec.Cmd) {}
