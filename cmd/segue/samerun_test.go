package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
)

// obliging is a provider that calls the tools that a strategy waits for, and otherwise answers. It
// keeps what it was asked.
type obliging struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

func newObliging(t *testing.T) *obliging {
	t.Helper()
	o := &obliging{}
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.requests = append(o.requests, string(body))
		message := obligingly(string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"r","model":"m","choices":[{"index":0,"message":`+message+`,"finish_reason":"stop"}]}`) // the client is there
	}))
	o.Config.SetKeepAlivesEnabled(false)
	o.Start()
	t.Cleanup(o.Close)
	return o
}

func obligingly(request string) string {
	var r struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Choice any `json:"tool_choice"`
	}
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		return says(err.Error())
	}
	offered, last := "", r.Messages[len(r.Messages)-1]
	for _, tool := range r.Tools {
		offered += " " + tool.Function.Name
	}
	switch {
	case r.Choice == "none" || last.Role == "tool":
		return says("Done.")
	case strings.Contains(offered, "submit_evaluation"):
		return calls("submit_evaluation", `{"approved":true}`)
	case strings.Contains(offered, "submit_plan") && strings.Contains(last.Content, "All of it"):
		return calls("submit_plan", plansOf[strings.Contains(last.Content, "its executor")])
	case strings.Contains(offered, "submit_plan"):
		return calls("submit_plan", `{"steps":[{"id":"a","goal":"inner"}]}`)
	case r.Choice == "required":
		return calls("list_files", `{"path":"."}`)
	default:
		return says("Done.")
	}
}

// plansOf are plans, by whether a step may choose its executor.
var plansOf = map[bool]string{
	false: `{"steps":[{"id":"a","goal":"first"},{"id":"b","goal":"second","executor":"complete-task"}]}`,
	true:  `{"steps":[{"id":"a","goal":"first"},{"id":"b","goal":"second","executor":"complete-task"},{"id":"c","goal":"third","executor":"plan-revise-execute"}]}`,
}

// asked returns what has been asked since the last time.
func (o *obliging) asked() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.requests
	o.requests = nil
	return all
}

// However a strategy is said, its run is the same: the same requests, and the same answer.
func TestStrategies_sameRunHoweverTheyAreSaid(t *testing.T) {
	for _, name := range strategies.Words() {
		t.Run(name, func(t *testing.T) {
			o, dir := newObliging(t), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600))
			env := map[string]string{"OPENAI_BASE_URL": o.URL}
			usual := []string{"--dir", dir, "--approve", "always", "All of it"}
			variants := []struct {
				what, file string
				args       []string
			}{
				{"a flag", "", []string{"--config", "", "--strategy", name, "--system", "Be brief."}},
				{"the file", "agents: {main: {strategy: " + name + ", system: Be brief.}}", nil},
				{"a flag over the file", "agents: {main: {strategy: tool-first, system: Be brief.}}", []string{"--strategy", name}},
				{"a profile", "agents: {main: {strategy: tool-first}}\nprofiles: {p: {strategy: " + name + ", system: Be brief.}}", []string{"-P", "p"}},
			}
			var want []string
			first := outcomeOf{}
			for i, v := range variants {
				if name == "retry" && i > 0 {
					v.file = strings.ReplaceAll(v.file, ", system: Be brief.", "") // retry has none itself
					v.args = append(v.args, "--system", "Be brief.")
				}
				got := segue(t, v.file, env, slices.Concat(v.args, usual)...)
				asked := o.asked()
				if i == 0 {
					want, first = asked, got
					require.NotEmpty(t, want, got.stderr)
					require.Zero(t, got.code, got.stderr)
					continue
				}
				require.Equal(t, first.code, got.code, "%s: %s", v.what, got.stderr)
				require.Equal(t, first.stdout, got.stdout, v.what)
				require.Len(t, asked, len(want), "%s: as many requests", v.what)
				for k := range want {
					require.JSONEq(t, want[k], asked[k], "%s: request %d", v.what, k+1)
				}
			}
		})
	}
}
