package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// program is the first program of a new user.
//
//go:embed testdata/program/main.go
var program []byte

// check checks that a version that is prepared and tagged now can be installed and works. A strict
// check is the last one before a release: the working tree must be prepared.
func (s *session) check(ctx context.Context, v string, strict bool) error {
	for _, step := range []struct {
		title string
		run   func() error
	}{
		{"prepare and pack " + v, func() error { return s.pack(ctx, v, strict) }},
		{"install the commands from an empty folder", func() error { return s.install(ctx, v) }},
		{"build a program against the library, and all modules, in an empty folder", func() error { return s.use(ctx, v) }},
	} {
		s.say("== %s\n", step.title)
		began := time.Now()
		if err := step.run(); err != nil {
			return err
		}
		s.say("   %v\n", time.Since(began).Round(100*time.Millisecond))
	}
	return nil
}

// pack prepares the version and packs all modules from one commit.
func (s *session) pack(ctx context.Context, v string, strict bool) error {
	if err := s.prepare(ctx, v); err != nil {
		return err
	}
	if err := s.prepared(ctx, v, strict); err != nil {
		return err
	}
	return s.publish(ctx, "packed", v, s.modules...)
}

// prepared compares the working tree with the prepared copy. Between releases the versions and
// checksums of the modules themselves are unknown; everything else must be tidy.
func (s *session) prepared(ctx context.Context, v string, strict bool) error {
	names, err := changed(ctx, s.dir)
	if err != nil {
		return err
	}
	if strict && len(names) > 0 {
		return fmt.Errorf("release: %s is not prepared, %s would change: run make release VERSION=%s and commit", v, strings.Join(names, ", "), v[1:])
	}
	for _, name := range names {
		if base := filepath.Base(name); base != "go.mod" && base != "go.sum" {
			continue
		}
		was, err := s.foreign(filepath.Join(s.source, name))
		if err != nil {
			return err
		}
		is, err := s.foreign(filepath.Join(s.dir, name))
		if err != nil {
			return err
		}
		if !slices.Equal(was, is) {
			return fmt.Errorf("release: %s is not tidy: run make tidy", name)
		}
	}
	return nil
}

// foreign returns the lines of a go.mod or go.sum that do not concern modules of the workspace.
func (s *session) foreign(file string) ([]string, error) {
	lines, err := readSums(file)
	return slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc(strings.Fields(line), s.own) && !strings.HasPrefix(line, "module ")
	}), err
}

// command returns the module path of the command line.
func (s *session) command() string { return s.root() + "/cmd/segue" }

// commands returns the module paths of the commands.
func (s *session) commands() []string {
	var paths []string
	for _, m := range s.modules {
		if strings.Contains(m.path, "/cmd/") {
			paths = append(paths, m.path)
		}
	}
	return paths
}

// install installs the commands as the README says, and runs them.
func (s *session) install(ctx context.Context, v string) error {
	empty, err := s.empty("install")
	if err != nil {
		return err
	}
	c, err := s.in(ctx, empty, "packed")
	if err != nil {
		return err
	}
	c.env = append(c.env, "GOBIN="+filepath.Join(s.tmp, "bin"))
	for _, name := range s.commands() {
		if _, err := c.run(ctx, "go", "install", name+"@"+v); err != nil {
			return err
		}
		if _, err := c.run(ctx, filepath.Join(s.tmp, "bin", path.Base(name)), "--help"); err != nil {
			return err
		}
	}
	installed := filepath.Join(s.tmp, "bin", "segue")
	said, err := c.run(ctx, installed, "version")
	if err != nil {
		return err
	}
	if first, _, _ := strings.Cut(said, "\n"); first != "segue "+v {
		return fmt.Errorf("release: the command that was installed as %s calls itself %q", v, first)
	}
	s.say("%s", said)
	if _, err := c.run(ctx, installed, "demo"); err != nil {
		return err
	}
	latest, err := c.run(ctx, "go", "list", "-m", "-f", "{{.Version}}", s.command()+"@latest")
	if err == nil && strings.TrimSpace(latest) != v {
		err = fmt.Errorf("release: latest means %s, not %s", strings.TrimSpace(latest), v)
	}
	return err
}

// use builds and runs a program in a module of its own, which requires all modules, and checks all
// packages as they were packed.
func (s *session) use(ctx context.Context, v string) error {
	empty, err := s.empty("use")
	if err != nil {
		return err
	}
	c, err := s.in(ctx, empty, "packed")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(empty, "main.go"), program, 0o644); err != nil { //nolint:gosec // a program
		return err
	}
	get, compile := []string{"get"}, []string{"list", "-export", "-f", "{{.ImportPath}}"}
	for _, m := range s.modules {
		get, compile = append(get, m.path+"/...@"+v), append(compile, m.path+"/...")
	}
	for _, args := range [][]string{{"mod", "init", "example.com/program"}, get, {"vet", "."}, compile} {
		if _, err := c.run(ctx, "go", args...); err != nil {
			return err
		}
	}
	said, err := c.run(ctx, "go", "run", ".")
	if err != nil {
		return err
	}
	if want := "The sum is 42.\n"; said != want {
		return fmt.Errorf("release: the program said %q and not %q", said, want)
	}
	return nil
}

// empty makes an empty folder.
func (s *session) empty(name string) (string, error) {
	dir := filepath.Join(s.tmp, name)
	return dir, os.Mkdir(dir, 0o755)
}
