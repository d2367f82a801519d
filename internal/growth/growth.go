// Package growth tests how costs grow with the size of the work. It counts and does not read a
// clock, so other load on the machine does not matter. It counts the statements that the packages
// of this module, slices, maps and strings execute, and the bytes that are allocated.
//
// The statements are counted by a second test binary, built with coverage, which runs one test for
// one size and reports the count:
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
	"sync"
	"testing"
)

const (
	// factor is the ratio of the large size to the small one.
	factor = 8
	// mostStatements and mostBytes limit the ratio of the large size's cost to the small size's.
	// The ratio of linear costs is at most factor, that of quadratic costs is factor times factor.
	// Sorting takes some more statements. Slices that double while they are small, and grow by a
	// quarter later, take up to 20 times as many bytes.
	mostStatements, mostBytes = 10, 24
	// variable is the environment variable that holds the size, in the binary that counts.
	variable = "SEGUE_GROWTH"
	// counted are the packages whose statements are counted. Packages slices, maps and strings
	// contain the loops of searches.
	counted = "github.com/segue-go/segue/...,slices,maps,strings"
)

// Costs are the costs of the work of one test.
type Costs struct {
	size   int    // in the binary that counts: the size; 0 means to measure only the way to the work
	binary string // otherwise: that binary
	before *taken // the cost of getting to the work
}

const nothing = -1

// Of returns the costs of a test of the package in the working directory. The first call of a
// process builds the binary that counts, beside the test binary: in a folder that the go command
// removes when the test has ended.
func Of(t *testing.T) *Costs {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		size, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("growth: %s: %v", variable, err)
		}
		return &Costs{size: size}
	}
	binary, err := counting()
	if err != nil {
		t.Fatalf("growth: %v", err)
	}
	return &Costs{binary: binary}
}

// counting returns the path of the binary that counts. A process that a test starts is given that
// of its parent.
var counting = sync.OnceValues(func() (string, error) {
	if binary := os.Getenv(variable + "_BINARY"); binary != "" {
		return binary, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	binary := self + ".counting.exe"
	cmd := exec.CommandContext(context.Background(), "go", "test", "-c", "-o", binary, "-ldflags", "-s -w", "-covermode", "atomic", "-coverpkg", counted, ".") //nolint:gosec // the test's own
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return binary, os.Setenv(variable+"_BINARY", binary)
})

// AreLinear does work for the small size and for a size eight times as large, each in a process of
// its own. It fails t if the large size takes more than ten times as many statements or 24 times as
// many bytes. Both processes run the test up to this call.
func (c *Costs) AreLinear(t *testing.T, small int, work func(size int)) {
	t.Helper()
	if c.binary == "" {
		_, _ = fmt.Fprintf(os.Stdout, "\n%d bytes\n", bytesOf(func() {
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

// taken is the cost of work.
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
	said := regexp.MustCompile(`(?m)^(\d+) bytes$`).FindStringSubmatch(out)
	if said == nil {
		t.Fatalf("growth: nothing was counted in %s:\n%s", t.Name(), out)
	}
	took := read(string(text))
	took.bytes, _ = strconv.Atoi(said[1])
	return took
}

// read adds up a profile. Each line holds the position of a piece of code, its number of
// statements, and how often it was executed.
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
