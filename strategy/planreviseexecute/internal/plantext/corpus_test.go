package plantext_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy/planreviseexecute/internal/plantext"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

const (
	goldenFile = "testdata/golden.txt"
	judgedFile = "testdata/judged.txt"
)

// corpora are replies that were written for these tests, and replies that models really gave, which
// lie beside the repository.
var corpora = []struct{ name, dir, golden string }{
	{"ours", "../../../../testdata/recorded", "testdata/golden-ours.txt"},
	{"others", "../../../../../shared/corpus", goldenFile},
}

// corpusText is a recorded text.
type corpusText struct {
	id, text string
}

func corpusTexts(t *testing.T, dir string) []corpusText {
	t.Helper()
	var texts []corpusText
	for _, name := range []string{"text/plan-recorded.jsonl", "text/bullets-recorded.jsonl", "cases/langchain-lists.jsonl"} {
		data, err := os.ReadFile(dir + "/" + name)
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(dir, "shared") {
			t.Skip("the corpus of recorded texts is not at ../shared/corpus, beside the repository")
		}
		require.NoError(t, err)
		for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
			var record struct{ ID, Text, Input string }
			require.NoError(t, json.Unmarshal(line, &record))
			if record.Input != "" {
				record.ID, record.Text = fmt.Sprintf("list-%03d", i+1), record.Input
			}
			texts = append(texts, corpusText{record.ID, record.Text})
		}
	}
	return texts
}

// TestS1_17_corpus reads recorded texts. For each text the golden file has the number of its steps
// or the problem, and the beginning of the SHA-256 of the steps.
func TestS1_17_corpus(t *testing.T) {
	for _, c := range corpora {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, c := range corpusTexts(t, c.dir) {
				checkLaws(t, c.text)
				steps, err := plantext.Parse(c.text)
				if err != nil {
					fmt.Fprintf(&b, "%s refused: %v\n", c.id, err)
					continue
				}
				fmt.Fprintf(&b, "%s %d %s\n", c.id, len(steps), digest(steps))
			}
			if *update {
				require.NoError(t, os.WriteFile(c.golden, []byte(b.String()), 0o644))
			}
			golden, err := os.ReadFile(c.golden)
			require.NoError(t, err)
			require.Equal(t, string(golden), b.String(), "run with -update, judge what has changed, and say so in %s", judgedFile)
		})
	}
}

// TestS1_17_ours reads texts that were written for this test, in the form of the recorded ones, and
// compares the steps.
func TestS1_17_ours(t *testing.T) {
	lines := 0
	for line := range fileLines(t, "testdata/ours.jsonl") {
		var record struct {
			ID, Text string
			Steps    []string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		checkLaws(t, record.Text)
		steps, err := plantext.Parse(record.Text)
		require.NoError(t, err, record.ID)
		require.Equal(t, record.Steps, steps, record.ID)
		lines++
	}
	require.GreaterOrEqual(t, lines, 6)
}

func digest(steps []string) string {
	sum := sha256.Sum256([]byte(strings.Join(steps, "\x00")))
	return hex.EncodeToString(sum[:])[:12]
}

// TestS1_17_judged checks that the manual judgement is about the texts that its seed picks, and
// about the steps that are read today.
func TestS1_17_judged(t *testing.T) {
	golden := map[string]string{} // by id
	for line := range fileLines(t, goldenFile) {
		id, read, _ := strings.Cut(line, " ")
		golden[id] = read
	}
	var seed uint64
	var picked, right, wrong []string
	for line := range fileLines(t, judgedFile) {
		fields := strings.Fields(line)
		switch {
		case fields[0] == "seed":
			_, err := fmt.Sscan(fields[1], &seed)
			require.NoError(t, err)
			continue
		case fields[3] == "right":
			right = append(right, fields[0])
		default:
			require.Equal(t, "wrong", fields[3], line)
			require.Greater(t, len(fields), 4, "no reason: %s", line)
			wrong = append(wrong, fields[0])
		}
		picked = append(picked, fields[0])
		require.Equal(t, golden[fields[0]], fields[1]+" "+fields[2], "%s is read in another way than when it was judged", fields[0])
	}
	require.Equal(t, pick(golden, seed), picked)
	require.Len(t, picked, 40)
	t.Logf("%d right, %d wrong %v", len(right), len(wrong), wrong)
}

// pick chooses 40 of the recorded texts at random.
func pick(golden map[string]string, seed uint64) []string {
	var ids []string
	for id := range golden {
		if !strings.HasPrefix(id, "list-") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:40]
	slices.Sort(ids)
	return ids
}

// fileLines yields the lines of a file that are neither blank nor a comment.
func fileLines(t *testing.T, name string) func(yield func(string) bool) {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}
