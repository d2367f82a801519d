// Command ratios reads the output of the benchmarks of this module and of the stores, and prints
// the median of each row beside the loop written by hand. It exits with 1 if a gate is broken or a
// benchmark failed, and with 2 if it cannot read its input.
//
//	go test -run '^$' -bench . -count 6 . > bench.out; go run ./ratios bench.out
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	text, err := run(os.Args[1:], os.Stdin)
	_, writing := os.Stdout.WriteString(text)
	if err = errors.Join(err, writing); err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "ratios:", err)
	if errors.Is(err, errBroken) {
		os.Exit(1)
	}
	os.Exit(2)
}

var errBroken = errors.New("the library is too slow, or a benchmark failed")

// run returns the text to print. The error is or wraps errBroken if the input could be read but a
// gate is broken or a benchmark failed.
func run(args []string, stdin io.Reader) (string, error) {
	res, err := read(args, stdin)
	if err != nil {
		return "", err
	}
	stand, broken := report(gates, res)
	text := res.String() + "\n" + stand + "\n"
	switch {
	case res.failed:
		return text, fmt.Errorf("%w: go test reports a failure", errBroken)
	case broken > 0:
		return text, fmt.Errorf("%w: %d gates are broken", errBroken, broken)
	default:
		return text, nil
	}
}

// read reads the files named in args, or the standard input if there are none.
func read(args []string, stdin io.Reader) (*results, error) {
	res := &results{samples: map[string]map[string][]float64{}}
	if len(args) == 0 {
		if err := res.parse(stdin); err != nil {
			return nil, err
		}
	}
	for _, name := range args {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = errors.Join(res.parse(f), f.Close())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(res.rows) == 0 {
		return nil, errors.New("the input holds no benchmarks")
	}
	return res, nil
}
