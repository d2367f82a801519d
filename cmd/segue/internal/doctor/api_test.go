package doctor_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/doctor/doctortest"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
)

// TestExamine_otherAPIs examines servers of Responses and of Anthropic's Messages: the perfect ones
// show no finding, and flaws that have nothing to do with the form of an answer are named.
func TestExamine_otherAPIs(t *testing.T) {
	t.Parallel()
	for _, api := range []string{endpoint.Responses, endpoint.Anthropic} {
		at := func(s *doctortest.Server) doctor.Config {
			cfg := config(s)
			cfg.Client.API = api
			return cfg
		}
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			r := examine(t, at(doctortest.New(t, "thoughts_apart")))
			require.Empty(t, names(r), "%+v", r)
			require.Equal(t, doctor.OK, r.Verdict)
			require.Equal(t, 5, r.Requests)
			require.Equal(t, int64(5*70), r.Usage.Total)
			measured := map[string]string{}
			for _, c := range r.Checks {
				require.Equal(t, c.Name == "calls as text", c.Verdict == doctor.Skipped, c.Name)
				measured[c.Name] = c.Measured
			}
			require.Contains(t, measured["streaming"], "2 pieces in ")
			require.Equal(t, "a call came, with what its tool needs", measured["tool calls"])
			require.Equal(t, "used in the answer", measured["tool results"])
			require.Equal(t, "apart from the text", measured["thoughts"])
			require.Contains(t, measured["model"], "answers, and is one of 4")

			for _, flaw := range []string{"no_credit", "key_refused", "model_missing", "schema_ignored", "results_refused", "wrong_path"} {
				s := doctortest.New(t, flaw)
				cfg := at(s)
				switch flaw {
				case "key_refused":
					cfg.Client.APIKey = "sk-canary-wrong-one"
				case "wrong_path":
					cfg.Client.BaseURL = s.Base() + "/" + cfg.Client.RequestPath()
				}
				r := examine(t, cfg)
				require.Equal(t, []string{flaw}, names(r), "%+v", r)
			}

			list, err := doctor.Models(t.Context(), at(doctortest.New(t)))
			require.NoError(t, err)
			require.Len(t, list, 4)
		})
	}
}

// TestExamine_noResponses says what to set where a server has Chat Completions only.
func TestExamine_noResponses(t *testing.T) {
	t.Parallel()
	cfg := config(doctortest.New(t))
	cfg.Client.API = endpoint.Responses
	cfg.Transport = without{cfg.Transport, "/responses"}
	r := examine(t, cfg)
	require.Equal(t, []string{"wrong_path"}, names(r), "%+v", r)
	require.Contains(t, r.Checks[0].Findings[0].Advice, "api: chat")
}

// without is a transport to a server that lacks a path.
type without struct {
	http.RoundTripper
	path string
}

// RoundTrip implements [http.RoundTripper].
func (t without) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = strings.Replace(r.URL.Path, t.path, "/nowhere", 1)
	return t.RoundTripper.RoundTrip(r)
}
