package doctor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/doctor/doctortest"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is the right configuration for a server.
func config(s *doctortest.Server) doctor.Config {
	return doctor.Config{
		Client:      endpoint.Client{Model: doctortest.Model, BaseURL: s.Base(), APIKey: doctortest.Key, NoEnvironment: true},
		KeyVariable: "OPENAI_API_KEY",
		Timeout:     30 * time.Second,
		Transport:   s.Client().Transport,
	}
}

func examine(t *testing.T, cfg doctor.Config) doctor.Report {
	t.Helper()
	var told []doctor.Check
	report, err := doctor.Examine(t.Context(), cfg, func(c doctor.Check) { told = append(told, c) })
	require.NoError(t, err)
	require.Equal(t, told, report.Checks)
	return report
}

// names returns the names of the findings, sorted.
func names(r doctor.Report) []string {
	found := []string{}
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			found = append(found, f.Name)
		}
	}
	slices.Sort(found)
	return found
}

// TestExamine_perfect finds nothing about a server that has no flaw.
func TestExamine_perfect(t *testing.T) {
	t.Parallel()
	r := examine(t, config(doctortest.New(t)))
	require.Empty(t, names(r), "%+v", r)
	require.Equal(t, doctor.OK, r.Verdict)
	for _, c := range r.Checks {
		require.Equal(t, c.Name == "calls as text", c.Verdict == doctor.Skipped, c.Name)
		require.NotEmpty(t, c.Measured, c.Name)
	}
	require.Equal(t, 5, r.Requests)
	require.Equal(t, int64(5*70), r.Usage.Total)
	require.NotNil(t, r.Cost)
}

// TestExamine_flaws names each flaw of a server, and nothing else. The flaws have the names of the
// findings.
func TestExamine_flaws(t *testing.T) {
	t.Parallel()
	for verdict, flaws := range map[doctor.Verdict][]string{
		doctor.Broken: {
			"silent", "redirect_away", "server_error", "rate_limited", "no_credit", "model_missing", "request_refused",
			"empty_reply", "stream_refused", "stream_cut", "no_policy",
		},
		doctor.Set: {
			"system_refused", "system_ignored", "no_usage", "thoughts_in_text", "no_tools", "calls_as_text", "results_refused",
			"results_ignored", "schema_failed", "schema_ignored",
		},
	} {
		for _, flaw := range flaws {
			t.Run(flaw, func(t *testing.T) {
				t.Parallel()
				cfg, want := config(doctortest.New(t, flaw)), []string{flaw}
				switch flaw {
				case "silent":
					cfg.Timeout = time.Second
				case "empty_reply":
					want = []string{flaw, "results_ignored"}
				case "no_policy":
					cfg, want = config(doctortest.New(t, flaw, "no_tools")), []string{flaw, "no_tools"}
				}
				r := examine(t, cfg)
				require.Equal(t, want, names(r), "%+v", r)
				require.Equal(t, verdict, r.Verdict)
				require.Less(t, r.Elapsed, 4*cfg.Timeout+5*time.Second)
				require.NotContains(t, fmt.Sprintf("%+v", r), "canary")
			})
		}
	}
}

// TestExamine_copes says nothing of what segue copes with by itself, but for what was measured.
func TestExamine_copes(t *testing.T) {
	t.Parallel()
	for flaw, said := range map[string]string{
		"no_stream":        "streaming: the answer comes as a whole, although a stream was asked for",
		"schema_refused":   "structured output: refused; segue offers a tool for the answer instead",
		"schema_fenced":    "structured output: the answer fits the schema",
		"no_list":          "model: answers; there is no list of models: status 404: Nothing is here.",
		"model_not_listed": "model: answers, and is none of the 3 models in the list",
	} {
		r := examine(t, config(doctortest.New(t, flaw)))
		require.Empty(t, names(r), "%+v", r)
		name, measured1, _ := strings.Cut(said, ": ")
		require.Equal(t, measured1, measured(r, name))
	}
}

// TestExamine_policies names the format to set where the server has no tool calls of its own.
func TestExamine_policies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flaws  []string
		policy string
		found  []string
		advice string
	}{
		"none set":                   {[]string{"no_tools"}, "", []string{"no_tools"}, "policy: structured"},
		"the model calls nothing":    {[]string{"tools_unused", "schema_refused"}, "", []string{"no_tools"}, "policy: fenced"},
		"another works":              {[]string{"no_tools", "hermes_only", "schema_refused"}, "", []string{"no_tools"}, "policy: hermes"},
		"the server leaves calls":    {[]string{"calls_as_text"}, "", []string{"calls_as_text"}, "have the server read them (vLLM: --tool-call-parser; llama.cpp: --jinja)"},
		"a call without arguments":   {[]string{"bad_arguments"}, "", []string{"no_tools"}, "policy: structured"},
		"the right one is set":       {[]string{"no_tools"}, "fenced", []string{}, ""},
		"one of the right ones":      {[]string{"no_tools", "hermes_always"}, "fenced,hermes", []string{}, ""},
		"a wrong one is set":         {[]string{"no_tools", "hermes_only"}, "fenced", []string{"policy_unread"}, "policy: structured"},
		"set where it is not needed": {[]string{"policy_unread"}, "fenced", []string{"policy_unread"}, "no policy: native tool calls work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(doctortest.New(t, tt.flaws...))
			cfg.Policy = tt.policy
			r := examine(t, cfg)
			require.Equal(t, tt.found, names(r), "%+v", r)
			if tt.advice != "" {
				require.Equal(t, tt.advice, theOne(t, r).Advice)
			}
		})
	}
}

// TestExamine_ways shows how far the model came in each way.
func TestExamine_ways(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flaws []string
		want  []doctor.Way
	}{
		"perfect":     {nil, []doctor.Way{{Called: true, Answered: true}}},
		"in the text": {[]string{"calls_as_text"}, []doctor.Way{{Called: true, InText: true, Answered: true}}},
		"without calls": {[]string{"no_tools", "hermes_only", "schema_refused"}, []doctor.Way{
			{Problem: "status 400: This model has no tools."}, {Policy: "fenced", Problem: "no call could be read"}, {Policy: "hermes", Called: true, Answered: true},
		}},
		"results ignored": {[]string{"no_tools", "schema_refused", "text_ignored"}, []doctor.Way{
			{Problem: "status 400: This model has no tools."},
			{Policy: "fenced", Called: true, Problem: "the answer does not say what the result says"},
			{Policy: "hermes", Called: true, Problem: "the answer does not say what the result says"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := examine(t, config(doctortest.New(t, tt.flaws...)))
			require.Equal(t, tt.want, r.Ways)
		})
	}
}

// theOne returns the only finding.
func theOne(t *testing.T, r doctor.Report) doctor.Finding {
	t.Helper()
	var all []doctor.Finding
	for _, c := range r.Checks {
		all = append(all, c.Findings...)
	}
	require.Len(t, all, 1)
	return all[0]
}
