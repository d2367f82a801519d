package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const unreleased = "## Unreleased"

var (
	heading = regexp.MustCompile(`(?m)^## (\d\S*) - \d{4}-\d\d-\d\d$`)
	version = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
)

// versions returns the versions of a change log in the form of tags, the newest first.
func versions(changelog string) []string {
	var found []string
	for _, m := range heading.FindAllStringSubmatch(changelog, -1) {
		found = append(found, "v"+m[1])
	}
	return found
}

// newest returns the newest version of a change log. All modules of the workspace have this
// version.
func newest(changelog string) (string, error) {
	all := versions(changelog)
	if len(all) == 0 {
		return "", fmt.Errorf("release: CHANGELOG.md names no version: it needs a heading such as %q", "## 0.1.0 - 2026-01-31")
	}
	if !version.MatchString(all[0]) {
		return "", fmt.Errorf("release: %s is not a version: %q of CHANGELOG.md must be a semantic version", all[0], strings.TrimPrefix(all[0], "v"))
	}
	return all[0], nil
}

// newer reports whether version v comes after another one. Of two pre-releases of the same version
// each may come after the other.
func newer(v, other string) bool {
	now, before := version.FindStringSubmatch(v), version.FindStringSubmatch(other)
	const parts = 3
	for i := 1; i <= parts && before != nil; i++ {
		a, _ := strconv.Atoi(now[i])
		b, _ := strconv.Atoi(before[i])
		if a != b {
			return a > b
		}
	}
	return before == nil || before[parts+1] != ""
}

// withVersion returns a change log whose unreleased changes become version v. If v is already its
// newest version, the change log is returned unchanged.
func withVersion(changelog, v string, on time.Time) (string, error) {
	if !version.MatchString(v) {
		return "", fmt.Errorf("release: %q is not a version: give one such as 0.2.0", v)
	}
	all := versions(changelog)
	if len(all) > 0 && all[0] == v {
		return changelog, nil
	}
	if len(all) > 0 && !newer(v, all[0]) {
		return "", fmt.Errorf("release: %s is not newer than %s: give a newer version", v, all[0])
	}
	before, after, found := strings.Cut(changelog, unreleased+"\n")
	if !found {
		return "", fmt.Errorf("release: CHANGELOG.md has no heading %q", unreleased)
	}
	if changes, _, _ := strings.Cut(after, "\n## "); strings.TrimSpace(changes) == "" {
		return "", fmt.Errorf("release: CHANGELOG.md lists nothing under %q: there is nothing to release", unreleased)
	}
	return before + unreleased + "\n\n## " + v[1:] + " - " + on.Format(time.DateOnly) + "\n" + after, nil
}
