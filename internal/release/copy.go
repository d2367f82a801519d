package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// copyTree makes a folder a git repository with one commit: the files of a working tree that git
// knows, with their current contents. A file that was never added is left out, so that the packed
// modules are what others will get. A folder that is not a repository is copied whole, except what
// its .gitignore names.
func copyTree(ctx context.Context, source, to string, out io.Writer) error {
	if _, err := git(ctx, source, "init", "-q", to); err != nil {
		return err
	}
	if err := stage(ctx, source, to, out); err != nil {
		return err
	}
	if _, err := git(ctx, to, "checkout", "-q", "--", "."); err != nil {
		return err
	}
	_, err := git(ctx, to, "commit", "-q", "-m", "as it stands")
	return err
}

// stage adds the files of the working tree to the index of the repository.
func stage(ctx context.Context, source, to string, out io.Writer) error {
	index := []string{"--git-dir=" + filepath.Join(to, ".git"), "--work-tree=" + source, "add", "-f"}
	known, err := git(ctx, source, "ls-files", "-z")
	if err != nil {
		_, _ = fmt.Fprintf(out, "%s is no git repository: every file counts, added or not\n", source)
		_, err = git(ctx, source, append(index[:len(index)-1], "-A")...)
		return err
	}
	var list strings.Builder
	for name := range strings.SplitSeq(strings.TrimSuffix(known, "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(source, name)); err == nil {
			list.WriteString(name + "\x00")
		}
	}
	names := filepath.Join(to, ".git", "names")
	if err := os.WriteFile(names, []byte(list.String()), 0o600); err != nil {
		return err
	}
	_, err = git(ctx, source, append(index, "--pathspec-from-file="+names, "--pathspec-file-nul")...)
	return err
}

// changed returns the files of a repository that differ from its first commit.
func changed(ctx context.Context, repository string) ([]string, error) {
	first, err := git(ctx, repository, "rev-list", "--max-parents=0", "HEAD")
	if err != nil {
		return nil, err
	}
	names, err := git(ctx, repository, "diff", "--name-only", "-z", strings.TrimSpace(first))
	return strings.FieldsFunc(names, func(r rune) bool { return r == 0 }), err
}

// copyFiles writes files of one folder to another.
func copyFiles(names []string, from, to string) error {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
