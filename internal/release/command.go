package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// command is where and how programs are run.
type command struct {
	dir string
	env []string
	out io.Writer // receives the output as it is written; nil means that run returns it
}

// run runs a program and returns its standard output. An error contains everything that the program
// wrote.
func (c command) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.out != nil {
		cmd.Stdout, cmd.Stderr = c.out, c.out
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("release: %s %s: %w\n%s%s", name, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String(), nil
}

// decode runs go and decodes its output as JSON.
func (c command) decode(ctx context.Context, v any, args ...string) error {
	out, err := c.run(ctx, "go", args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), v); err != nil {
		return fmt.Errorf("release: go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// git runs git in a folder. It ignores the user's configuration, and who owns the folder.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return command{dir: dir, env: gitEnvironment(
		"safe.directory", "*",
		"user.name", "release",
		"user.email", "release@localhost",
		"core.autocrlf", "false",
		"gc.auto", "0",
	)}.run(ctx, "git", args...)
}

// gitEnvironment returns the environment of this process, with a git configuration that replaces
// the user's own.
func gitEnvironment(config ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			env = append(env, v)
		}
	}
	env = append(env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", fmt.Sprint("GIT_CONFIG_COUNT=", len(config)/2))
	for i := 0; i < len(config); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, config[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, config[i+1]))
	}
	return env
}
