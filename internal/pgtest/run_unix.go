//go:build unix

package pgtest

import (
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// ids returns the numbers of a user and its group.
func ids(u *user.User) (uid, gid int) {
	uid, _ = strconv.Atoi(u.Uid) // numbers, on Unix
	gid, _ = strconv.Atoi(u.Gid)
	return uid, gid
}

// command is one to be run by the user of the server.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...) //nolint:noctx // the server ends when it is told to
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the test
	if s.as != nil {
		uid, gid := ids(s.as)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return cmd
}
