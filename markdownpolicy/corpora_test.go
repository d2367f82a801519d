package markdownpolicy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// corpus is a folder of test cases and of replies.
type corpus struct{ name, dir string }

// ours was written for these tests. The other corpus has the cases of other projects, and replies
// that models really gave; it lies beside the repository, and is no part of it.
const ours = "ours"

var corpora = []corpus{{ours, "../testdata/recorded"}, {"others", "../../shared/corpus"}}

// eachCorpus runs a test on each corpus that is there.
func eachCorpus(t *testing.T, run func(t *testing.T, c corpus)) {
	for _, c := range corpora {
		t.Run(c.name, func(t *testing.T) {
			if _, err := os.Stat(c.dir); err != nil && c.name != ours {
				t.Skip("the corpus of recorded texts is not at ../shared/corpus, beside the repository")
			}
			run(t, c)
		})
	}
}

func (c corpus) read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(file)))
	require.NoError(t, err)
	return data
}

// corpusLines reads a file of a corpus, which has a JSON value on each line.
func corpusLines[T any](t *testing.T, c corpus, file string) (lines []T) {
	t.Helper()
	for line := range bytes.Lines(c.read(t, file)) {
		var value T
		require.NoError(t, json.Unmarshal(line, &value))
		lines = append(lines, value)
	}
	return lines
}
