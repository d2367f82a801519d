package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// results are the samples of each row and metric, with the rows in their original order.
type results struct {
	rows    []string                        // "W2/raw"
	samples map[string]map[string][]float64 // by row and metric
	failed  bool                            // go test reports a failure
}

var processors = regexp.MustCompile(`-\d+$`)

// parse reads the output of go test -bench: lines such as
//
//	BenchmarkW2/raw-2   12345   98.7 ns/op   123 cpu-ns/step
func (r *results) parse(in io.Reader) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		text := lines.Text()
		if strings.HasPrefix(text, "FAIL") || strings.Contains(text, "--- FAIL") || strings.HasPrefix(text, "panic:") {
			r.failed = true
		}
		fields := strings.Fields(text)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		row := processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return fmt.Errorf("%q is not a number in line %q", fields[i], text)
			}
			r.add(row, fields[i+1], v)
		}
	}
	return lines.Err()
}

func (r *results) add(row, metric string, v float64) {
	if r.samples[row] == nil {
		r.samples[row] = map[string][]float64{}
		r.rows = append(r.rows, row)
	}
	r.samples[row][metric] = append(r.samples[row][metric], v)
}

// median returns the median of the samples of a metric, or false if there are none.
func (r *results) median(row, metric string) (float64, bool) {
	s := slices.Clone(r.samples[row][metric])
	if len(s) == 0 {
		return 0, false
	}
	slices.Sort(s)
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid], true
	}
	return (s[mid-1] + s[mid]) / 2, true
}

// ratio returns the ratio of the median of a metric to that of another.
func (r *results) ratio(row, metric, baseRow, baseMetric string) (float64, bool) {
	v, ok := r.median(row, metric)
	base, okBase := r.median(baseRow, baseMetric)
	if !ok || !okBase || base == 0 {
		return 0, false
	}
	return v / base, true
}

// has reports whether there is any row of the same workload as row.
func (r *results) has(row string) bool {
	return slices.ContainsFunc(r.rows, func(other string) bool { return workload(other) == workload(row) })
}

func workload(row string) string {
	name, _, _ := strings.Cut(row, "/")
	return name
}

// shared are the metrics that the rows of all workloads have. The others are printed after them.
var shared = []string{"ns/step", "cpu-ns/step", "B/step", "allocs/step"}

// String tabulates the medians. It also gives CPU time as a multiple of the loop's, and of the loop
// with openai-go.
func (r *results) String() string {
	t := table{{"row", "ns/step", "cpu-ns/step", "B/step", "allocs/step", "cpu, × loop", "cpu, × openai-go"}}
	var others strings.Builder
	for _, row := range r.rows {
		if !r.measures(row, shared) {
			fmt.Fprintf(&others, "- %s: %s\n", row, r.all(row))
			continue
		}
		cells := []string{row}
		for _, metric := range shared {
			v, _ := r.median(row, metric)
			cells = append(cells, number(v))
		}
		for _, base := range []string{"loop", "openai-go"} {
			x, ok := r.ratio(row, "cpu-ns/step", workload(row)+"/"+base, "cpu-ns/step")
			cells = append(cells, maybe(x, ok))
		}
		t = append(t, cells)
	}
	return t.String() + "\n" + others.String()
}

// measures reports whether a row has all of some metrics.
func (r *results) measures(row string, metrics []string) bool {
	return !slices.ContainsFunc(metrics, func(metric string) bool { return len(r.samples[row][metric]) == 0 })
}

// all lists the medians of a row that go test did not add itself.
func (r *results) all(row string) string {
	var parts []string
	for metric := range r.samples[row] {
		if v, _ := r.median(row, metric); !strings.HasSuffix(metric, "/op") {
			parts = append(parts, number(v)+" "+metric)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// table is text in columns. All lines have as many cells as the first, which names the columns.
type table [][]string

// String writes the table in Markdown, aligned, so that it is readable as text and can be put into
// docs/internal/performance.md.
func (t table) String() string {
	var b strings.Builder
	for i, cells := range t {
		t.line(&b, cells, " ")
		if i == 0 {
			t.line(&b, make([]string, len(cells)), "-")
		}
	}
	return b.String()
}

func (t table) line(b *strings.Builder, cells []string, pad string) {
	for i, cell := range cells {
		b.WriteString("|" + pad + cell + strings.Repeat(pad, t.width(i)-utf8.RuneCountInString(cell)+1))
	}
	b.WriteString("|\n")
}

func (t table) width(column int) int {
	widest := 0
	for _, cells := range t {
		widest = max(widest, utf8.RuneCountInString(cells[column]))
	}
	return widest
}

// number writes a number with three digits, or all digits of its integer part.
func number(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func maybe(v float64, ok bool) string {
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
