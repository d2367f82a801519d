//go:build !unix

package pgtest

import (
	"os/exec"
	"os/user"
)

func ids(*user.User) (uid, gid int) { return 0, 0 }

func (s *Server) command(name string, args ...string) *exec.Cmd { return exec.Command(name, args...) }
