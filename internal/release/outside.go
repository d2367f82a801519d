package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The tools that are run at a version, so that a check means the same tomorrow.
const (
	gorelease   = "golang.org/x/exp/cmd/gorelease@v0.0.0-20261014143641-f0251eb4aa3e"
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
)

// compare prints how the API of each module differs from the last tag. Before a release, a version
// that does not say how much has changed is an error.
func (s *session) compare(ctx context.Context, v string, tags []string, strict bool) error {
	if len(tags) == 0 {
		fmt.Fprintln(s.out, "there is no tag yet: nothing to compare with")
		return nil
	}
	base := tags[0]
	for _, m := range s.modules {
		if _, err := git(ctx, s.source, "rev-parse", "-q", "--verify", "refs/tags/"+m.tag(base)); err != nil {
			fmt.Fprintf(s.out, "%s has no tag %s: nothing to compare with\n", m.path, m.tag(base))
			continue
		}
		if err := s.fetch(ctx, s.source, "packed", base, m); err != nil {
			return err
		}
		c, err := s.in(ctx, filepath.Join(s.dir, m.dir), "packed")
		if err != nil {
			return err
		}
		c.out = s.out
		args := []string{"run", gorelease, "-base=" + base}
		if strict {
			args = append(args, "-version="+v)
		}
		if _, err := c.run(ctx, "go", args...); err != nil {
			return err
		}
	}
	return nil
}

// vulnerabilities looks for known vulnerabilities that the modules reach. Where the database cannot
// be reached, only a check before a release fails.
func (s *session) vulnerabilities(ctx context.Context, strict bool) error {
	database := cmp.Or(os.Getenv("GOVULNDB"), "https://vuln.go.dev")
	if err := reachable(ctx, database); err != nil {
		if strict {
			return fmt.Errorf("release: the database of vulnerabilities cannot be reached: %w", err)
		}
		fmt.Fprintf(s.out, "WARNING: NOT CHECKED for known vulnerabilities: %v\n", err)
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
