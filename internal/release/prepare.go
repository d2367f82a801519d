package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// prepare makes the copy what version v is tagged from: requirements between the modules, go.sum
// and go.work. It publishes the modules one after another to the proxy "prepared", because the
// go.sum of a module holds the checksums of those that it requires.
func (s *session) prepare(ctx context.Context, v string) error {
	if err := s.replace(ctx, v); err != nil { // go.work is a file of the root module, so it comes first
		return err
	}
	for _, m := range s.modules {
		dir := filepath.Join(s.dir, m.dir)
		tidy, err := s.in(ctx, dir, "prepared")
		if err != nil {
			return err
		}
		for _, p := range m.requires {
			if _, err := tidy.run(ctx, "go", "mod", "edit", "-require="+p+"@"+v); err != nil {
				return err
			}
		}
		if err := s.dropOwnSums(dir); err != nil {
			return err
		}
		if _, err := tidy.run(ctx, "go", "mod", "tidy"); err != nil {
			return err
		}
		if err := s.publish(ctx, "prepared", v, m); err != nil {
			return err
		}
	}
	return s.commit(ctx)
}

// replace makes go.work replace the modules that others require by their folders, so that the
// workspace works before the version is published.
func (s *session) replace(ctx context.Context, v string) error {
	args := []string{"work", "edit"}
	for _, old := range s.replaced {
		if path, _, _ := strings.Cut(old, "@"); s.own(path) {
			args = append(args, "-dropreplace="+old)
		}
	}
	for _, m := range s.modules {
		if slices.ContainsFunc(s.modules, func(o module) bool { return slices.Contains(o.requires, m.path) }) {
			args = append(args, "-replace="+m.path+"@"+v+"=./"+strings.TrimPrefix(m.dir, "."))
		}
	}
	_, err := command{dir: s.dir, env: os.Environ()}.run(ctx, "go", append(args, "go.work")...)
	return err
}

// release changes the working tree, in which everything is committed, into what version v is tagged
// from. Where that is the case already, it makes the tags instead.
func (s *session) release(ctx context.Context, v string, on time.Time) error {
	file := filepath.Join(s.dir, "CHANGELOG.md")
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := withVersion(string(old), v, on)
	if err != nil {
		return err
	}
	missing, err := s.missingTags(ctx, v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	if err := s.prepare(ctx, v); err != nil {
		return err
	}
	names, err := changed(ctx, s.dir)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return s.tag(ctx, v, missing)
	}
	if err := s.copyBack(ctx); err != nil {
		return err
	}
	s.say("%s is prepared. Next:\n\tgit commit -am 'Release %s'\n\tRELEASE=1 make release-check\n", v, v)
	s.say("\tmake release VERSION=%s, which then makes the tags\n", v[1:])
	return nil
}

// repository runs git in the working tree as its owner would.
func (s *session) repository() command { return command{dir: s.source, env: os.Environ()} }

// missingTags returns the tags of version v that the last commit of the working tree lacks. It
// fails if something is not committed, or if another commit has one of the tags.
func (s *session) missingTags(ctx context.Context, v string) ([]string, error) {
	open, err := s.repository().run(ctx, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return nil, err
	}
	if open != "" {
		return nil, fmt.Errorf("release: these files are changed, and not committed: commit them first, or undo the change\n%s", open)
	}
	tags := s.tags(v)
	made, err := s.repository().run(ctx, "git", append([]string{"tag", "--list"}, tags...)...)
	if err != nil {
		return nil, err
	}
	here, err := s.repository().run(ctx, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return nil, err
	}
	isHere := func(name string) bool { return slices.Contains(strings.Fields(here), name) }
	if elsewhere := slices.DeleteFunc(strings.Fields(made), isHere); len(elsewhere) > 0 {
		return nil, fmt.Errorf("release: %s is the tag of another commit: give a newer version", strings.Join(elsewhere, ", "))
	}
	return slices.DeleteFunc(tags, isHere), nil
}

// tags returns the tags of version v, one for each module.
func (s *session) tags(v string) (tags []string) {
	for _, m := range s.modules {
		tags = append(tags, m.tag(v))
	}
	return tags
}

// tag gives the last commit of the working tree the tags of version v that are missing. If it is
// cut off, the next release makes the rest.
func (s *session) tag(ctx context.Context, v string, missing []string) error {
	for _, name := range missing {
		if _, err := s.repository().run(ctx, "git", "tag", "-a", "-m", name, name); err != nil {
			return err
		}
	}
	s.say("tagged %s. Next:\n\tgit push --atomic origin HEAD %s\n", v, strings.Join(s.tags(v), " "))
	return nil
}
