package plainwords_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/llmclient"
)

func TestOf(t *testing.T) {
	_, number := strconv.ParseInt("x", 10, 64)
	_, large := strconv.Atoi("99999999999999999999")
	_, natural := strconv.ParseUint("-1", 10, 64)
	_, boolean := strconv.ParseBool("maybe")
	failed := &llmclient.Error{Code: llmclient.CodeRateLimited, Status: 429, Model: "m", RetryAfter: time.Hour, Message: "messages: slow down"}
	for text, want := range map[string]string{
		"": "", "no such file": "no such file",
		failed.Error(): "the rate limit of the server was reached (status 429, model m): messages: slow down",
		(&llmclient.Error{Code: llmclient.CodeTimeout}).Error():                                                           "the server did not answer in time",
		"llmclient: own_code: m":                                                                                          "own_code: m",
		"planreviseexecute: step 2: completetask: llmclient: auth: wrong":                                                 "step 2: the server refuses the key: wrong",
		"llmclient: auth (status 401, model m): wrong":                                                                    "the server refuses the key (status 401, model m): wrong",
		"llmclient: auth (status 403, model m): not from here":                                                            "the server refuses access (status 403, model m): not from here",
		(&llmclient.Error{Code: llmclient.CodeBadRequest, Model: "m", Message: "anthropic: message 0 has sound"}).Error(): "the request cannot be sent (model m): message 0 has sound",
		"llmclient: bad_request (status 400, model m): wrong":                                                             "the server refuses the request (status 400, model m): wrong",
		"openaichat: APIKey: has a line break; check it":                                                                  "the key has a line break; check it",
		"model a: openaichat: APIKey: has a line break; check it":                                                         "model a: the key has a line break; check it",
		"openaichat: BaseURL: the base URL for x has a query or fragment; give a query with option.WithQuery in Options":  "the base URL for x has a query or fragment; leave it out",
		"completetask: tools: unknown":                                                                                    "unknown",
		"machine: frame 0: the limit of 2 steps is reached":                                                               "the limit of 2 steps is reached",
		"machine: frame 0.1: the limit of 2 steps is reached":                                                             "frame 0.1: the limit of 2 steps is reached",
		"segue.yaml:3:1: agents.a.tools: strategy: unknown":                                                               "segue.yaml:3:1: agents.a.tools: strategy: unknown",
		"gave up (llmclient: canceled: x); the last try: llmclient: truncated: y":                                         "gave up (the request was given up: x); the last try: the answer broke off: y",
		number.Error():  `"x" must be a whole number`,
		large.Error():   `"99999999999999999999" is too large`,
		natural.Error(): `"-1" must be a whole number from 0 on`,
		boolean.Error(): `"maybe" must be true or false`,
	} {
		require.Equal(t, want, plainwords.Of(text), text)
	}
}

// TestOf_codes has words for all codes that a failed request can have.
func TestOf_codes(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "llmclient", "error.go"))
	require.NoError(t, err)
	codes := regexp.MustCompile(`Code = "([a-z_]+)"`).FindAllSubmatch(source, -1)
	require.NotEmpty(t, codes)
	for _, code := range codes {
		require.NotContains(t, plainwords.Of("llmclient: "+string(code[1])+": x"), string(code[1])+":")
	}
}

// TestOf_packages removes the name of each package of the library that begins its errors with it.
func TestOf_packages(t *testing.T) {
	root, found := filepath.Join("..", "..", "..", ".."), 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "cmd" || d.Name() == "bench" || d.Name() == "internal" && path == filepath.Join(root, "internal") || d.Name() == "strategytest"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := regexp.MustCompile(`(?m)^package (\w+)`).FindSubmatch(text)
		if name == nil || string(name[1]) == "main" || !strings.Contains(string(text), `"`+string(name[1])+`: `) {
			return nil
		}
		found++
		require.Equal(t, "x", plainwords.Of(string(name[1])+": x"), path)
		return nil
	}))
	require.Greater(t, found, 30)
}
