package doctor_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/doctor/doctortest"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

var rewrite = flag.Bool("rewrite", false, "write the screens in docs/screens anew")

// durations differ from run to run.
var durations = regexp.MustCompile(`under 1ms|\b[0-9.]+(ms|s)\b`)

// screenOf examines a server and returns what is shown, with durations that do not change.
func screenOf(t *testing.T, columns int, flaws ...string) string {
	t.Helper()
	cfg := config(doctortest.New(t, flaws...))
	r := examine(t, cfg)
	var b strings.Builder
	b.WriteString(doctor.Heading("http://localhost:8000/v1", r.Model, columns))
	for _, c := range r.Checks {
		c.Measured = durations.ReplaceAllString(c.Measured, "12ms")
		b.WriteString(c.Text(columns))
	}
	r.Elapsed = 1200 * time.Millisecond
	b.WriteString(r.Summary(columns))
	return b.String()
}

// TestScreens compares what a doctor shows with the files in docs/screens. With -rewrite it writes
// them.
func TestScreens(t *testing.T) {
	t.Parallel()
	flaws := []string{"no_stream_usage", "thoughts_in_text", "no_tools", "schema_refused", "hermes_only"}
	for _, columns := range []int{80, 40} {
		for name, have := range map[string][]string{"doctor": flaws, "doctor-perfect": nil} {
			screen := screenOf(t, columns, have...)
			for line := range strings.Lines(screen) {
				require.LessOrEqual(t, plaintext.CellsOf(strings.TrimSuffix(line, "\n")), columns, line)
			}
			file := filepath.Join("../../../../docs/screens", fmt.Sprintf("%s-%d.txt", name, columns))
			if *rewrite {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(screen), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), screen, "run: go test ./internal/doctor -run TestScreens -rewrite")
		}
	}
}

// TestText_wide breaks wide characters and long words where the terminal ends.
func TestText_wide(t *testing.T) {
	t.Parallel()
	c := doctor.Check{Name: "reply", Verdict: doctor.Broken, Measured: strings.Repeat("漢字", 30) + " " + strings.Repeat("x", 50)}
	for _, columns := range []int{24, 40, 80} {
		for line := range strings.Lines(c.Text(columns)) {
			require.LessOrEqual(t, plaintext.CellsOf(strings.TrimSuffix(line, "\n")), columns, line)
		}
	}
	require.Equal(t, 60, strings.Count(c.Text(40), "漢")+strings.Count(c.Text(40), "字"))
}

// TestPage compares the screen in docs/models.md with that of the command.
func TestPage(t *testing.T) {
	t.Parallel()
	screen, err := os.ReadFile("../../../../docs/screens/doctor-80.txt")
	require.NoError(t, err)
	guide, err := os.ReadFile("../../../../docs/models.md")
	require.NoError(t, err)
	require.Contains(t, string(guide), "\n```\n"+string(screen)+"```\n", "the page shows the screen")
}
