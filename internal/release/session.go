package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// session is one call of this command: a copy of the working tree in a repository of its own, and
// folders that nothing else has written to.
type session struct {
	*workspace        // the copy
	source     string // the working tree
	tmp        string
	out        io.Writer
}

// begin copies a working tree. The caller calls end.
func begin(ctx context.Context, source string, out io.Writer) (*session, error) {
	tmp, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	s := &session{source: source, tmp: tmp, out: out}
	copied := filepath.Join(tmp, "tree")
	if err := copyTree(ctx, source, copied, out); err != nil {
		return nil, errors.Join(err, s.end())
	}
	if s.workspace, err = open(ctx, copied); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// say reports the progress to the user.
func (s *session) say(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }

func (s *session) end() error { return os.RemoveAll(s.tmp) }

// in returns how to run go in a folder: outside the workspace, with a separate module cache, and
// with the modules of a proxy before those of the user's own proxies. Third-party modules that the
// user has are not fetched again. Paths are trimmed, so that all sessions share the build cache.
func (s *session) in(ctx context.Context, dir, proxy string) (command, error) {
	out, err := command{env: os.Environ()}.run(ctx, "go", "env", "GOPROXY", "GOMODCACHE", "GOFLAGS", "GONOSUMDB")
	if err != nil {
		return command{}, err
	}
	user := strings.Split(out, "\n")
	return command{dir: dir, env: append(os.Environ(),
		"GOWORK=off",
		"GOMODCACHE="+filepath.Join(s.tmp, proxy+"-modules"),
		"GOPROXY="+fileProxy(filepath.Join(s.tmp, proxy))+","+fileProxy(user[1])+","+user[0],
		"GOFLAGS="+user[2]+" -modcacherw -trimpath",
		"GONOSUMDB="+strings.Trim(user[3]+","+s.root(), ","),
	)}, nil
}

// fileProxy returns the address under which a module cache serves as a proxy.
func fileProxy(cache string) string {
	dir := filepath.ToSlash(filepath.Join(cache, "cache", "download"))
	return "file:///" + strings.TrimPrefix(dir, "/") // on Windows, dir begins with a letter
}

// publish commits the copy, tags it for modules, and makes the go command fetch and pack these as
// from a host. Afterwards the proxy serves them.
func (s *session) publish(ctx context.Context, proxy, v string, modules ...module) error {
	if err := s.commit(ctx); err != nil {
		return err
	}
	for _, m := range modules {
		if _, err := git(ctx, s.dir, "tag", "-f", m.tag(v)); err != nil {
			return err
		}
	}
	fetch := command{dir: s.tmp, env: append(
		gitEnvironment("safe.directory", "*", "url."+filepath.ToSlash(s.dir)+".insteadOf", "https://"+s.root()),
		"GOWORK=off", "GOFLAGS=-modcacherw", "GOPROXY=direct", "GONOSUMDB="+s.root(), "GOMODCACHE="+filepath.Join(s.tmp, proxy))}
	for _, m := range modules {
		if _, err := fetch.run(ctx, "go", "mod", "download", m.path+"@"+v); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) commit(ctx context.Context) error {
	if _, err := git(ctx, s.dir, "add", "-A", "-f"); err != nil {
		return err
	}
	_, err := git(ctx, s.dir, "commit", "-q", "--allow-empty", "-m", "prepared")
	return err
}

// copyBack writes the changes of the copy to the working tree.
func (s *session) copyBack(ctx context.Context) error {
	names, err := changed(ctx, s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		s.say("changed %s\n", name)
	}
	return copyFiles(names, s.dir, s.source)
}
