package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runstore"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// crashVariable has segue demo run in a folder and kill itself: "RECORDS FOLDER".
const crashVariable = "SEGUE_DEMO_CRASH"

// crashAfter is how many records the demo keeps before it is killed: it is in the middle of the
// step that is planned in turn.
const crashAfter = 24

// demoCrash executes segue demo --crash: a process of its own begins the demo and is killed in the
// middle; this one goes on with it.
func (c *cli) demoCrash(ctx context.Context, out output) error {
	dir, err := demoFolder()
	if err != nil {
		return failed(fmt.Errorf("cannot make the folder of the demo: %w", err))
	}
	kept, err := os.MkdirTemp("", "segue-demo-runs-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(kept) }()
	place := runstore.Place{Path: filepath.Join(kept, "runs.db")}
	s := c.screen(out)
	s.ShowProgress("scripted model, no network; the files are in " + dir)
	if err := c.crash(ctx, dir, place.Path, out); err != nil {
		return err
	}
	store, _, err := place.Open(ctx)
	if err != nil {
		return failed(err)
	}
	runs := &runStore{Store: store, place: place, said: " --store " + quoted(place.Path)}
	head, err := runs.Head(ctx, checkpoint.Key{Run: "demo"})
	if err != nil {
		runs.close()
		return failed(err)
	}
	asked, err := repliesKept(ctx, runs, head)
	if err != nil {
		runs.close()
		return failed(err)
	}
	s.ShowProgress(fmt.Sprintf("the process was killed (kill -9); %s are kept, with %s that need not be asked for again", plaintext.Counted(head.Last, "record"), strconv.Itoa(asked)+" answers of the model"))
	j, err := demoJob(dir, asked)
	if err != nil {
		runs.close()
		return failed(err)
	}
	j.runs, j.resume = runs, &orchestrator.Resumption{Run: "demo", TakeOver: true}
	defer j.close()
	return c.demoDone(ctx, j, out, s, dir)
}

// crash begins the demo in another process, which kills itself.
func (c *cli) crash(ctx context.Context, dir, runs string, out output) error {
	self, err := os.Executable()
	if err != nil {
		return failed(fmt.Errorf("cannot tell which program this is: %w", err))
	}
	args := []string{"demo", "--store", runs}
	if out.quiet {
		args = append(args, "--quiet")
	}
	if out.verbose {
		args = append(args, "--verbose")
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), crashVariable+"="+strconv.Itoa(crashAfter)+" "+dir)
	cmd.Stderr = c.stderr
	err = cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok || cmd.ProcessState.Exited() && runtime.GOOS != "windows" {
		return failed(fmt.Errorf("the demo was to be killed, and ended by itself: %w", errors.Join(err, errors.New(cmd.ProcessState.String()))))
	}
	return nil
}

// demoDoomed is the demo in the process that is killed.
func (c *cli) demoDoomed(ctx context.Context, out output, f *storeFlag, doomed string) error {
	after, dir, _ := strings.Cut(doomed, " ")
	n, err := strconv.Atoi(after)
	if err != nil {
		return err
	}
	place, _, err := c.storePlace(f, nil)
	if err != nil {
		return err
	}
	store, _, err := place.Open(ctx)
	if err != nil {
		return err
	}
	j, err := demoJob(dir, 0)
	if err != nil {
		return failed(err)
	}
	j.runs = &runStore{Store: store, place: place}
	j.wrap = func(s checkpoint.Store) checkpoint.Store { return &killing{s, n} }
	defer j.close()
	return c.perform(ctx, j, out, c.screen(out))
}

// repliesKept returns how many replies of the model a run has kept.
func repliesKept(ctx context.Context, runs *runStore, head checkpoint.Head) (int, error) {
	view, err := runview.Read(ctx, runs, head)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range view.Entries {
		if a, ok := e.What.(machine.Answered); ok && a.Kind == machine.EffectModel {
			if f, failed := a.Answer.(nextstep.Failure); !failed || f.Source == nextstep.SourceModel {
				n++
			}
		}
	}
	return n, nil
}

// killing is a store that kills its process when so many records are kept.
type killing struct {
	checkpoint.Store
	after int
}

// Unwrap returns the store.
func (k *killing) Unwrap() checkpoint.Store { return k.Store }

// Append appends, and may kill the process.
func (k *killing) Append(ctx context.Context, b checkpoint.Batch) error {
	err := k.Store.Append(ctx, b)
	if n := len(b.Records); err == nil && n > 0 && b.Records[n-1].Seq >= k.after {
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill() // SIGKILL: nothing of this process runs any more
		}
		select {}
	}
	return err
}
