package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The tools are pinned to a version, so that a check gives the same result tomorrow.
const (
	gorelease   = "golang.org/x/exp/cmd/gorelease@v0.0.0-20261014143641-f0251eb4aa3e"
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
)

// compare prints the API differences of each module since the last tag. A version number that is
// too low for the changes is an error.
func (s *session) compare(ctx context.Context, v string, tags []string) error {
	if len(tags) == 0 {
		s.say("there is no tag yet: nothing to compare with\n")
		return nil
	}
	base := tags[0]
	for _, m := range s.modules {
		if !s.tagged(ctx, m, base) {
			s.say("%s has no tag %s: nothing to compare with\n", m.path, m.tag(base))
			continue
		}
		proxy, err := s.before(ctx, m, base, v)
		if err != nil {
			return err
		}
		c, err := s.in(ctx, filepath.Join(s.dir, m.dir), proxy)
		if err != nil {
			return err
		}
		said, err := c.run(ctx, "go", "run", gorelease, "-base="+base, "-version="+v)
		if err != nil {
			return err
		}
		s.say("%s", said)
		if onlyPatch(base, v) && strings.Contains(said, "## incompatible changes") {
			return fmt.Errorf("release: %s breaks the API of %s, and a patch version breaks nothing: raise the minor version", v, m.path)
		}
	}
	return nil
}

// onlyPatch reports whether two versions differ only in the patch version. Before v1.0 gorelease
// allows patch versions to break the API, too.
func onlyPatch(base, v string) bool {
	b, n := version.FindStringSubmatch(base), version.FindStringSubmatch(v)
	return b[1] == n[1] && b[2] == n[2]
}

func (s *session) tagged(ctx context.Context, m module, v string) bool {
	_, err := git(ctx, s.source, "rev-parse", "-q", "--verify", "refs/tags/"+m.tag(v))
	return err == nil
}

// before makes a proxy in the state before version v of a module is published: with the base of the
// module, and with both versions of the modules that it requires.
func (s *session) before(ctx context.Context, m module, base, v string) (string, error) {
	proxy := "before-" + strings.ReplaceAll(m.dir, "/", "-")
	for _, other := range s.modules {
		required := slices.Contains(m.requires, other.path)
		if required {
			if err := s.fetch(ctx, s.dir, proxy, v, other); err != nil {
				return "", err
			}
		}
		if (required || other.path == m.path) && s.tagged(ctx, other, base) {
			if err := s.fetch(ctx, s.source, proxy, base, other); err != nil {
				return "", err
			}
		}
	}
	return proxy, nil
}

// vulnerabilities searches for known vulnerabilities that the modules reach. If the database cannot
// be reached, only a strict check fails.
func (s *session) vulnerabilities(ctx context.Context, strict bool) error {
	database := cmp.Or(os.Getenv("GOVULNDB"), "https://vuln.go.dev")
	if err := reachable(ctx, database); err != nil {
		if strict {
			return fmt.Errorf("release: the database of vulnerabilities cannot be reached: %w", err)
		}
		s.say("WARNING: NOT CHECKED for known vulnerabilities: %v\n", err)
		return nil
	}
	for _, m := range s.modules {
		c, err := s.in(ctx, filepath.Join(s.tmp, "unpacked", m.dir), "packed")
		if err != nil {
			return err
		}
		c.out = s.out
		if _, err := c.run(ctx, "go", "run", govulncheck, "./..."); err != nil {
			return err
		}
	}
	return nil
}

// reachable asks a database of vulnerabilities for its index.
func reachable(ctx context.Context, database string) error {
	if strings.HasPrefix(database, "file:") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, database+"/index/db.json", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", req.URL, resp.Status)
	}
	return nil
}
