// Package growth holds tests to laws of how costs grow. It counts, and reads no clock: what else
// the machine does changes nothing. What is counted are the statements that the packages of this
// module, slices and maps execute, and the bytes that are allocated.
//
// The statements are counted by a second test binary, built with coverage, which runs one test for
// one size and tells what that took:
//
//	func TestGrowth_calls(t *testing.T) {
//		costs := growth.Of(t)
//		for name, cfg := range configs {
//			t.Run(name, func(t *testing.T) {
//				costs.AreLinear(t, 500, func(calls int) { … })
//			})
//		}
//	}
package growth

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	// factor is how many times as large the large size is as the small one.
	factor = 8
	// mostStatements and mostBytes are how many times as much the large size may cost. Linear costs
	// are factor times as much at most, square ones come to factor times factor. Sorting takes some
	// more statements. Slices that grow by doubling while they are small, and by a quarter later,
	// take 20 times as many bytes.
	mostStatements, mostBytes = 10, 24
	// variable is the environment variable that holds the size, where work is counted.
	variable = "SEGUE_GROWTH"
	// counted are the packages whose statements are counted. In slices, maps and strings are the
	// loops of those who search.
	counted = "github.com/segue-go/segue/...,slices,maps,strings"
)

// Costs are those of the work of one test.
type Costs struct {
	size   int    // in the binary that counts: what to work on; nothing: only to tell what it takes to get there
	binary string // else: that binary
	before *taken // what it takes to get to the work
}

const nothing = -1

// Of returns the costs of a test of the package in the working directory. It builds the binary that
// counts.
func Of(t *testing.T) *Costs {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		size, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("growth: %s: %v", variable, err)
		}
		return &Costs{size: size}
	}
	c := &Costs{binary: filepath.Join(t.TempDir(), "counting.test.exe")}
	run(t, nil, "go", "test", "-c", "-o", c.binary, "-covermode", "atomic", "-coverpkg", counted, ".")
	return c
}

// AreLinear has work done for the small size and for one that is eight times as large, each in a
// process of its own, and fails t if the second takes more than ten times as many statements or 24
// times as many bytes. The test is run up to here in both.
func (c *Costs) AreLinear(t *testing.T, small int, work func(size int)) {
	t.Helper()
	if c.binary == "" {
		fmt.Printf("\n%d bytes\n", bytesOf(func() {
			if c.size != nothing {
				work(c.size)
			}
		}))
		return
	}
	if c.before == nil {
		before := c.of(t, nothing)
		c.before = &before
	}
	few, many := c.of(t, small), c.of(t, small*factor)
	few.statements -= c.before.statements
	many.statements -= c.before.statements
	t.Logf("%d take %d statements and %d bytes, %d take %d and %d", small, few.statements, few.bytes, small*factor, many.statements, many.bytes)
	if many.statements > mostStatements*few.statements {
		t.Errorf("%d take more than %d times the statements of %d; most often executed is %s", small*factor, mostStatements, small, many.busiest)
	}
	if many.bytes > mostBytes*few.bytes {
		t.Errorf("%d take more than %d times the bytes of %d", small*factor, mostBytes, small)
	}
}

// bytesOf returns how many bytes are allocated while f runs.
func bytesOf(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// taken is what work takes.
type taken struct {
	statements, bytes int
	busiest           string // the piece of code that was executed most often
}

// of runs the test in the binary that counts.
func (c *Costs) of(t *testing.T, size int) taken {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	var name []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		name = append(name, "^"+regexp.QuoteMeta(part)+"$")
	}
	out := run(t, []string{variable + "=" + strconv.Itoa(size)}, c.binary, "-test.run", strings.Join(name, "/"), "-test.coverprofile", profile)
	text, err := os.ReadFile(profile) //nolint:gosec // a file of this test
	if err != nil {
		t.Fatalf("growth: %v", err)
	}
	told := regexp.MustCompile(`(?m)^(\d+) bytes$`).FindStringSubmatch(out)
	if told == nil {
		t.Fatalf("growth: nothing was counted in %s:\n%s", t.Name(), out)
	}
	took := read(string(text))
	took.bytes, _ = strconv.Atoi(told[1])
	return took
}

// read adds up a profile. Each line says where a piece of code is, how many statements it has, and
// how often it was executed.
func read(profile string) (took taken) {
	type piece struct {
		where string
		times int
	}
	var pieces []piece
	for line := range strings.Lines(profile) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue // the mode
		}
		statements, _ := strconv.Atoi(fields[1])
		times, _ := strconv.Atoi(fields[2])
		took.statements += statements * times
		pieces = append(pieces, piece{fields[0], times})
	}
	if len(pieces) > 0 {
		busiest := slices.MaxFunc(pieces, func(a, b piece) int { return cmp.Compare(a.times, b.times) })
		took.busiest = fmt.Sprintf("%s: %d times", busiest.where, busiest.times)
	}
	return took
}

// run returns the output of a command.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...) //nolint:gosec // the test's own
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("growth: %s: %v\n%s", name, err, out)
	}
	return string(out)
}
