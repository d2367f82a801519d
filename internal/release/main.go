// Release prepares versions of the modules of the workspace, and checks that they can be installed.
// CONTRIBUTING.md says how a version is made.
//
//	release check           the newest version of CHANGELOG.md installs and works
//	release prepare 0.2.0   change the working tree into what the version is tagged from; then, once
//	                        that is committed, make the tags
//	release tidy            tidy every module
//
// It runs in the folder of go.work and needs go and git. It packs the working tree, without files
// that were never added to git. With RELEASE=1 in the environment, check compares the working tree
// with the result of prepare.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

var errUsage = errors.New("usage: release check | prepare VERSION | tidy")

func run(ctx context.Context, args []string) (err error) {
	if len(args) > 0 && args[0] == "prepare" && len(args) != 2 {
		return errors.New("release: give one version, as in make release VERSION=0.2.0")
	}
	if len(args) == 0 || (args[0] == "prepare") != (len(args) == 2) || len(args) > 2 {
		return errUsage
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return fmt.Errorf("release: %w: run it in the folder of go.work", err)
	}
	current, err := newest(string(changelog))
	if err != nil {
		return err
	}
	s, err := begin(ctx, dir, os.Stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	switch args[0] {
	case "check":
		return s.check(ctx, current, os.Getenv("RELEASE") == "1")
	case "prepare":
		return s.release(ctx, "v"+strings.TrimPrefix(args[1], "v"), time.Now())
	case "tidy":
		return s.tidy(ctx, current)
	default:
		return errUsage
	}
}
