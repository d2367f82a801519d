//go:build !unix && !windows

package mcptools

import "os/exec"

func ownGroup(*exec.Cmd) {}

func terminateGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killLeft(*exec.Cmd) {}
