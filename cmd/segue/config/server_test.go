package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServer says where a model is asked, with which key, and what options change.
func TestServer(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OPENAI_API_KEY": "own", "HOUSE_KEY": "house", "SEGUE_MODEL": "usual"}
	getenv := func(name string) string { return env[name] }
	file := func(found bool) *Config {
		c, err := Parse("f", []byte(`models:
  house: {model: h, base_url: 'http://house.test/v1', api_key_env: HOUSE_KEY, policy: fenced}
  stolen: {model: s, base_url: 'http://thief.test/v1', api_key_env: OPENAI_API_KEY}
agents:
  a: {model: house}
`))
		require.NoError(t, err)
		c.Found = found
		return c
	}
	for name, tt := range map[string]struct {
		of                                     string
		options                                ClientOptions
		model, server, key, variable, policyIs string
	}{
		"as in the file":  {"house", ClientOptions{}, "h", "http://house.test/v1", "house", "HOUSE_KEY", "fenced"},
		"another model":   {"house", ClientOptions{Model: "x", Policy: "xml"}, "x", "http://house.test/v1", "house", "HOUSE_KEY", "xml"},
		"one of the file": {"house", ClientOptions{Model: "stolen"}, "s", "http://thief.test/v1", "own", "OPENAI_API_KEY", ""},
		"another server":  {"house", ClientOptions{BaseURL: "http://typed.test/v1"}, "h", "http://typed.test/v1", "own", "OPENAI_API_KEY", "fenced"},
	} {
		tt.options.Getenv = getenv
		s, variable, policy, err := file(false).Server(tt.of, tt.options)
		require.NoError(t, err, name)
		require.Equal(t, []string{tt.model, tt.server, tt.key, tt.variable, tt.policyIs}, []string{s.Model, s.BaseURL, s.APIKey, variable, policy}, name)
	}
	_, _, _, err := file(true).Server("stolen", ClientOptions{Getenv: getenv})
	require.ErrorContains(t, err, "cannot send it to thief.test:80")

	s, _, _, err := (*Config)(nil).Server("", ClientOptions{Getenv: getenv})
	require.NoError(t, err)
	require.Equal(t, []string{"usual", "https://api.openai.com/v1", "own"}, []string{s.Model, s.BaseURL, s.APIKey})
}

// TestServer_api says where a model is asked by another API, and which key goes there.
func TestServer_api(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OPENAI_API_KEY": "own", "ANTHROPIC_API_KEY": "ant", "HOUSE_KEY": "house"}
	getenv := func(name string) string { return env[name] }
	c, err := Parse("f", []byte(`models:
  bare: {model: b, api_key_env: HOUSE_KEY}
  house: {model: h, base_url: 'http://house.test/v1', api_key_env: HOUSE_KEY}
  claude: {model: c, api: anthropic}
agents:
  a: {model: bare}
`))
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		options          ClientOptions
		api, server, key string
	}{
		"as in the file":            {ClientOptions{}, "chat", "https://api.openai.com/v1", "house"},
		"the same maker":            {ClientOptions{API: "responses"}, "responses", "https://api.openai.com/v1", "house"},
		"another maker":             {ClientOptions{API: "anthropic"}, "anthropic", "https://api.anthropic.com", "ant"},
		"another maker, own server": {ClientOptions{API: "anthropic", Model: "house"}, "anthropic", "http://house.test/v1", "house"},
		"typed":                     {ClientOptions{API: "anthropic", BaseURL: "http://typed.test"}, "anthropic", "http://typed.test", "ant"},
		"typed, without the API":    {ClientOptions{Model: "claude", BaseURL: "http://typed.test"}, "anthropic", "http://typed.test", "ant"},
		"back":                      {ClientOptions{Model: "claude", API: "chat"}, "chat", "https://api.openai.com/v1", "own"},
	} {
		tt.options.Getenv = getenv
		s, _, _, err := c.Server("bare", tt.options)
		require.NoError(t, err, name)
		require.Equal(t, []string{tt.api, tt.server, tt.key}, []string{s.API, s.BaseURL, s.APIKey}, name)
	}

	c.Found = true
	_, _, _, err = c.Server("bare", ClientOptions{Getenv: getenv, Model: "claude", BaseURL: "http://typed.test"})
	require.EqualError(t, err, "model claude: f was found, not named, and its api: anthropic cannot decide which key the server of --base-url gets: say --api anthropic too")
	_, _, _, err = c.Server("bare", ClientOptions{Getenv: getenv, Model: "claude", API: "anthropic", BaseURL: "http://typed.test"})
	require.NoError(t, err)
}

// The models that may be asked: of the agents that can be reached, with their fallbacks.
func TestSetup_ModelNames(t *testing.T) {
	cfg, err := Parse("segue.yaml", []byte(`
models:
  big: {model: big-1}
  small: {model: small-1, fallbacks: [big]}
agents:
  a: {model: small, children: [{agent: b}]}
  b: {model: big, description: Helps.}
default: a
`))
	require.NoError(t, err)
	names := func(agent, model string) []string {
		s, err := cfg.Setup(agent, Options{})
		require.NoError(t, err)
		return s.ModelNames(ClientOptions{Model: model, Getenv: func(string) string { return "" }})
	}
	require.Equal(t, []string{"big-1", "small-1"}, names("a", ""))
	require.Equal(t, []string{"big-1"}, names("b", ""))
	require.Equal(t, []string{"big-1"}, names("a", "big"))
	require.Equal(t, []string{"big-1"}, names("b", "big"))
	require.Equal(t, []string{"big-1", "other"}, names("a", "other"))
}
