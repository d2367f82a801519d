package filetools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// maxVisited is the greatest number of files that a walk visits.
const maxVisited = 200_000

var errEnough = errors.New("enough")

// walk calls visit with the regular files below dir that match glob, in lexical order, until visit
// returns false. It follows no links. It leaves out folders called .git and everything that cannot
// be read.
func (f *folder) walk(ctx context.Context, dir, glob string, visit func(name string, size int64) (more bool)) (complete bool, err error) {
	if _, err := path.Match(glob, ""); err != nil {
		return false, fmt.Errorf("filetools: %s is not a glob", show(glob))
	}
	visited := 0
	err = fs.WalkDir(walked{f}, dir, func(name string, e fs.DirEntry, err error) error {
		visited++
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == dir:
			return err
		case err != nil:
			return nil //nolint:nilerr // one unreadable folder does not hide the others
		case visited > maxVisited:
			return errEnough
		case e.IsDir() && e.Name() == ".git" && name != dir:
			return fs.SkipDir
		case !e.Type().IsRegular() || !match(glob, relative(dir, name)):
			return nil
		}
		info, err := e.Info()
		if err == nil && !visit(name, info.Size()) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return false, nil
	}
	return err == nil, err
}

func relative(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(name, dir+"/")
}

// match reports whether a path matches a glob of path.Match, in which ** matches any number of
// folders. A glob without a slash is compared with the last element of the path. The empty glob
// matches everything.
func match(glob, name string) bool {
	if glob == "" {
		return true
	}
	if !strings.Contains(glob, "/") {
		ok, _ := path.Match(glob, path.Base(name))
		return ok
	}
	return matchParts(strings.Split(glob, "/"), strings.Split(name, "/"))
}

// matchParts compares from the front. Where that fails after a **, it returns only to the last **:
// an earlier ** never needs to match more.
func matchParts(glob, name []string) bool {
	g, n := 0, 0
	star, from := -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == "**":
			star, from = g, n
			g++
		case g < len(glob) && matchPart(glob[g], name[n]):
			g++
			n++
		case star >= 0:
			from++
			g, n = star+1, from
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == "**" {
		g++
	}
	return g == len(glob)
}

func matchPart(glob, part string) bool {
	ok, _ := path.Match(glob, part)
	return ok
}
