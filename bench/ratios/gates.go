package main

import (
	"fmt"
	"strings"
)

// gate is a limit on the median of a metric, or on its ratio to another median of the same run.
type gate struct {
	row, metric string
	base        string // the row it is compared with; "" for a limit on the number itself
	baseMetric  string // "" means metric
	most        float64
	why         string
}

// gates are the limits for the library. All except those of W8, of memory, of lists and of Resume
// are ratios within one run, because times depend on the machine. Those of time leave a quarter and
// more above what was measured: on cores that others share, whole rounds of one commit differed by
// as much, and in W6, whose loop takes 1.4 µs a step, by twice that.
var gates = []gate{
	{
		row: "W1/raw", metric: "cpu-ns/step", base: "W1/loop", most: 110,
		why: "a run of one step is all beginning and end: an id, a machine, a strategy with its table, and seven events. 18 was not reached: no run reuses what an ended run leaves, and the text of a reply is watched and read for calls",
	},
	{
		row: "W2/typed-run", metric: "cpu-ns/step", base: "W2/loop", most: 25,
		why: "limits, laws, records and time-outs, and arguments that are held against the schema before they are read into the type. 7.8 was not reached: each call has an execution and a goroutine, whose stack grows twice while JSON is decoded",
	},
	{
		row: "W2/typed", metric: "cpu-ns/step", base: "W2/loop", most: 25,
		why: "as by Run, with every event",
	},
	{
		row: "Growth/raw", metric: "late-cpu-ns/step", base: "Growth/raw", baseMetric: "early-cpu-ns/step", most: 1.15,
		why: "what is done once a step must cost what is new, never the whole history",
	},
	{
		row: "W5/typed", metric: "cpu-ns/step", base: "W5/loop", most: 6,
		why: "the loop starts its goroutines too. 1.3 was not reached: see W2",
	},
	{
		row: "W6/raw", metric: "cpu-ns/step", base: "W6/loop", most: 18,
		why: "as W2, and every third step makes a frame with its machine. 4.8 was not reached",
	},
	{
		row: "W6/agents", metric: "cpu-ns/step", base: "W6/loop", most: 22,
		why: "an agent is a branch of the same run: it costs a frame, as delegation does, and its call. 6 was not reached: see W2",
	},
	{
		row: "W7/typed-run", metric: "ns/step", base: "W7/loop", most: 13,
		why: "many runs at once share nothing that they would have to wait for. 5, a fifth of the loop's throughput, was not reached: see W2",
	},
	{
		row: "Journal/memory", metric: "cpu-ns/step", base: "Journal/without", most: 2,
		why: "a record is encoded once, and its effect digested once",
	},
	{
		row: "JournalGrowth", metric: "late-cpu-ns/step", base: "JournalGrowth", baseMetric: "early-cpu-ns/step", most: 1.15,
		why: "what is encoded and digested once a step is what is new",
	},
	{
		row: "Resume", metric: "cpu-ms/resume", most: 450,
		why: "10,000 records are read and applied: a person waits for that. 400 held on one day of two",
	},
	{
		row: "Resume", metric: "MiB/resume", most: 70,
		why: "all that is allocated meanwhile, the run itself included",
	},
	{
		row: "SQLiteStep/bytes=4096/synchronous=FULL/runs=1", metric: "flushes/step", most: 1.1,
		why: "a durable step is one flush, as is an append to a file; the time of a flush is the disk's, so flushes are counted",
	},
	{
		row: "SQLiteStep/bytes=4096/synchronous=FULL/runs=16", metric: "flushes/step", most: 0.2,
		why: "runs share a transaction and its flush",
	},
	{
		row: "SQLiteAnswer", metric: "flushes/answer", most: 1.1,
		why: "an answer and the intents that follow from it are one append; only the beginning and the end of a run come to that",
	},
	{
		row: "SQLiteList", metric: "slowest-ms/page", most: 100,
		why: "a page of 100,000 waiting runs is found by an index, whatever is asked for",
	},
	{
		row: "PostgreSQLStep/bytes=4096/synchronous=FULL/runs=1", metric: "flushes/step", most: 1.1,
		why: "a durable step is one statement, one round trip, and one flush",
	},
	{
		row: "PostgreSQLStep/bytes=4096/synchronous=FULL/runs=16", metric: "flushes/step", most: 0.2,
		why: "runs share a transaction and its flush",
	},
	{
		row: "PostgreSQLList", metric: "slowest-ms/page", most: 100,
		why: "as on SQLite",
	},
	{
		row: "W8/raw", metric: "cpu-ns/step", most: 250,
		why: "a delta is a value: no goroutine, no channel, no event on the heap. 60 was not reached: each piece is watched for repetition and read for calls",
	},
	{
		row: "W8/raw", metric: "allocs/step", most: 0.1,
		why: "none for a delta; what the run itself allocates is shared by 2,000 of them",
	},
	{
		row: "W8/two-frames", metric: "cpu-ns/step", most: 250,
		why: "as W8, below another frame: a delta goes through no frame",
	},
	{
		row: "Park/raw", metric: "KB/run", most: 33,
		why: "a run that waits is its machine, its history, and the one goroutine that waits: many thousands of them fit into a small process. 22 was not reached: half of it is a stack of 16 KB",
	},
	{
		row: "H2/raw-run", metric: "cpu-ns/step", base: "H2/openai-go", most: 0.9,
		why: "openai-go carries a body that each message was appended to once. 0.63 to 0.76 was measured",
	},
	{
		row: "H8/raw", metric: "cpu-ns/step", base: "H8/openai-go", most: 0.1,
		why: "deltas are cut out of the event, without a tree for each chunk",
	},
}

// report describes the state of each gate, and returns how many are broken. A gate whose workload
// was not run is left open: it is allowed to run only some benchmarks.
func report(gates []gate, r *results) (text string, broken int) {
	t := table{{"gate", "is", "at most", ""}}
	var reasons strings.Builder
	for _, g := range gates {
		v, ok := g.value(r)
		verdict := "kept"
		switch {
		case !ok && !r.has(g.row):
			verdict = "not run"
		case !ok:
			verdict = "not measured"
			broken++
		case v > g.most:
			verdict = "BROKEN"
			fmt.Fprintf(&reasons, "\n%s should be kept: %s.", g.name(), g.why)
			broken++
		}
		t = append(t, []string{g.name(), maybe(v, ok), maybe(g.most, true), verdict})
	}
	return t.String() + reasons.String(), broken
}

func (g gate) value(r *results) (float64, bool) {
	if g.base == "" {
		return r.median(g.row, g.metric)
	}
	return r.ratio(g.row, g.metric, g.base, g.metricOfBase())
}

func (g gate) metricOfBase() string {
	if g.baseMetric != "" {
		return g.baseMetric
	}
	return g.metric
}

func (g gate) name() string {
	switch {
	case g.base == "":
		return g.row + " " + g.metric
	case g.metricOfBase() != g.metric:
		return g.row + " " + g.metric + " / " + g.metricOfBase()
	default:
		return g.row + " / " + g.base + " " + g.metric
	}
}
