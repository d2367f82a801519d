package eval

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/segue-go/segue/messages"
)

// Markdown writes the report as a table of Markdown, with a line for each variant. The rates are in
// percent, with their intervals of 95 %; tokens, cost and seconds are those of a trial.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	for i, row := range r.Table() {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|--:", len(row)-1) + "|\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Table returns the same as lines of cells, the first of which are the titles.
func (r *Report) Table() [][]string {
	rows := [][]string{r.head()}
	for _, v := range r.Variants {
		rows = append(rows, r.row(v))
	}
	return rows
}

// repeated returns how many trials each case has, over all variants; pass@k and pass^k are of as
// many.
func (r *Report) repeated() int {
	k := 0
	for i, v := range r.Variants {
		if n := v.Trials(); i == 0 || n < k {
			k = n
		}
	}
	return k
}

func (r *Report) head() []string {
	head := []string{"variant", "passed", "rate"}
	if k := r.repeated(); k > 1 {
		head = append(head, fmt.Sprintf("pass@%d", k), fmt.Sprintf("pass^%d", k))
	}
	return append(append(head, r.Scores()...), "errors", "requests", "tokens", "cost", "seconds")
}

func (r *Report) row(v *VariantReport) []string {
	sum := v.Sum()
	row := []string{v.Name, fmt.Sprintf("%d of %d", sum.Passed, sum.Trials), v.Passes().String()}
	if k := r.repeated(); k > 1 {
		row = append(row, v.PassAt(k).String(), v.PassAll(k).String())
	}
	for _, name := range r.Scores() {
		row = append(row, fmt.Sprintf("%.0f", 100*v.Score(name).Rate))
	}
	n := max(sum.Trials, 1)
	return append(row, fmt.Sprint(sum.Errors), fmt.Sprintf("%.1f", float64(sum.ModelCalls)/float64(n)),
		fmt.Sprint(sum.Tokens/int64(n)), (sum.Cost / messages.Cost(n)).String(), fmt.Sprintf("%.1f", sum.Seconds/float64(n)))
}

// String returns the rate in percent with its bounds, such as "92 (65–99)".
func (e Estimate) String() string {
	return fmt.Sprintf("%.0f (%.0f–%.0f)", 100*e.Rate, 100*e.Low, 100*e.High)
}

// junit is the form that most systems of continuous integration read.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as JUnit XML: a test suite for each variant, a test case for each case,
// which fails if fewer than the part required of its trials pass.
func (r *Report) JUnit(w io.Writer, required float64) error {
	var all junitSuites
	for _, v := range r.Variants {
		sum := v.Sum()
		s := junitSuite{Name: r.Suite + "/" + v.Name, Time: fmt.Sprintf("%.3f", sum.Seconds)}
		for _, c := range v.Cases {
			one := junitCase{Class: s.Name, Name: c.Name, Time: fmt.Sprintf("%.3f", c.Seconds)}
			if float64(c.Passed) < required*float64(c.Trials) {
				one.Failure = &junitFailure{fmt.Sprintf("%d of %d trials passed", c.Passed, c.Trials), "run " + c.Run + ": " + c.Why}
				s.Failures++
			}
			s.Tests++
			s.Cases = append(s.Cases, one)
		}
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
