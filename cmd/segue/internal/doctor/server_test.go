package doctor_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/doctor/doctortest"
)

// TestExamine_mended asks again where that helps, and says nothing of it.
func TestExamine_mended(t *testing.T) {
	t.Parallel()
	for _, flaw := range []string{"token_limit_refused", "rate_limited_once", "thoughts_apart"} {
		r := examine(t, config(doctortest.New(t, flaw)))
		require.Empty(t, names(r), "%+v", r)
		require.Equal(t, flaw == "thoughts_apart", strings.Contains(measured(r, "thoughts"), "apart from the text"))
	}
}

// TestExamine_passing says of a server that fails from some request on only that, and not that it
// lacks what was asked.
func TestExamine_passing(t *testing.T) {
	t.Parallel()
	for flaw, want := range map[string]string{"busy_later": "rate_limited", "down_later": "server_error"} {
		r := examine(t, config(doctortest.New(t, flaw)))
		require.Equal(t, []string{want}, names(r), "%+v", r)
		require.Equal(t, doctor.Broken, r.Verdict)
		require.Equal(t, "no answer", measured(r, "tool calls"))
	}
}

// TestExamine_givenUp says nothing of a server that was not waited for.
func TestExamine_givenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	r, err := doctor.Examine(ctx, config(doctortest.New(t, "silent")), func(c doctor.Check) { t.Errorf("told %+v", c) })
	require.NoError(t, err)
	require.Empty(t, r.Checks)
}

func measured(r doctor.Report, name string) string {
	for _, c := range r.Checks {
		if c.Name == name {
			return c.Measured
		}
	}
	return ""
}

// addressCase is a wrong address, and what is said about it.
type addressCase struct {
	flaws     []string
	base      string // BASE is the server's address
	transport http.RoundTripper
	found     string
	measured  string
	advice    string
}

// addressCases returns wrong addresses by name.
func addressCases(t *testing.T) map[string]addressCase {
	t.Helper()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	fails := func(err error) http.RoundTripper {
		return roundTrip(func(*http.Request) (*http.Response, error) { return nil, err })
	}
	plain := doctortest.New(t)
	return map[string]addressCase{
		"no /v1":                    {base: "BASE", found: "wrong_path", measured: "/chat/completions: status 404", advice: "base_url: BASE/v1"},
		"another API of the server": {base: "BASE/api", found: "wrong_path", measured: "/api/chat/completions: status 404", advice: "base_url: BASE/v1"},
		"too long": {
			base: "BASE/v1/chat/completions", found: "wrong_path",
			measured: "/v1/chat/completions/chat/completions: status 404", advice: "base_url: BASE/v1",
		},
		"another path": {
			base: "BASE/v2", found: "wrong_path", measured: "/v2/chat/completions: status 404",
			advice: "base_url: BASE/v1",
		},
		"a page": {
			flaws: []string{"page"}, base: "BASE/v1", found: "wrong_path", measured: "/v1/chat/completions: status 200, text/html",
			advice: "check base_url: it is the address up to, and without, /chat/completions",
		},
		"moved away": {
			flaws: []string{"redirect_away"}, base: "BASE/v1", found: "redirect_away",
			measured: "it redirects to http://localhost:1/other/v1/chat/completions", advice: "base_url: http://localhost:1/other/v1",
		},
		"another server": {flaws: []string{"not_readable"}, base: "BASE/v1", found: "not_readable", advice: "is base_url the one of an API of Chat Completions, or of the one that api names?"},
		"not started":    {base: closed.URL, found: "refused", measured: "nothing listens at " + strings.TrimPrefix(closed.URL, "http://")},
		"no name": {
			base: "https://nowhere.example/v1", transport: fails(&net.DNSError{Err: "no such host", Name: "nowhere.example", IsNotFound: true}),
			found: "name_unknown", measured: "no server has the name nowhere.example",
		},
		"no way":           {base: "https://nowhere.example/v1", transport: fails(errors.New("network is unreachable")), found: "unreachable", measured: "network is unreachable"},
		"no TLS":           {base: strings.Replace(plain.Base(), "http:", "https:", 1), found: "tls", advice: "base_url: " + plain.Base()},
		"own certificate":  {base: secure.URL, transport: http.DefaultTransport, found: "tls", advice: "add its authority to those of the system (SSL_CERT_FILE)"},
		"another name":     {base: strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), transport: secure.Client().Transport, found: "tls", advice: "base_url: with the name of the certificate"},
		"silent from then": {flaws: []string{"hangs"}, base: "BASE/v1", found: "silent", measured: "no answer in 1s"},
	}
}

// TestExamine_address finds what is wrong with an address.
func TestExamine_address(t *testing.T) {
	t.Parallel()
	for name, tt := range addressCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := doctortest.New(t, tt.flaws...)
			cfg := config(s)
			full := func(text string) string { return strings.ReplaceAll(text, "BASE", s.URL) }
			cfg.Client.BaseURL = full(tt.base)
			if tt.found == "silent" {
				cfg.Timeout = time.Second
			}
			if tt.transport != nil {
				cfg.Transport = tt.transport
			}
			r := examine(t, cfg)
			found := theOne(t, r)
			require.Equal(t, tt.found, found.Name)
			require.Contains(t, found.Measured, full(tt.measured))
			require.Contains(t, found.Advice, full(tt.advice))
			require.NotContains(t, found.Measured+found.Advice, "secret")
			require.Less(t, r.Elapsed, 4*cfg.Timeout+5*time.Second)
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestExamine_key says what is wrong with a key, without showing it.
func TestExamine_key(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flaws    []string
		key      string
		variable string
		found    string
		advice   string
		measured string // where nothing is found
	}{
		"not set":    {variable: "OPENAI_API_KEY", found: "key_missing", advice: "export OPENAI_API_KEY=…, or api_key_env with another variable"},
		"not named":  {found: "key_missing", advice: "api_key_env: with the NAME of the variable that holds it"},
		"wrong":      {key: "sk-canary-wrong-one", variable: "HOUSE_KEY", found: "key_refused", advice: "put the right key into $HOUSE_KEY, and look at what the account may do"},
		"not needed": {flaws: []string{"keyless"}, measured: "none is sent, and none is needed"},
		"right":      {key: doctortest.Key, variable: "HOUSE_KEY", measured: "the key in $HOUSE_KEY is accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(doctortest.New(t, tt.flaws...))
			cfg.Client.APIKey, cfg.KeyVariable = tt.key, tt.variable
			r := examine(t, cfg)
			if tt.found == "" {
				require.Empty(t, names(r))
				require.Equal(t, tt.measured, measured(r, "key"))
				return
			}
			require.Equal(t, tt.found, theOne(t, r).Name)
			require.Equal(t, tt.advice, theOne(t, r).Advice)
			require.NotContains(t, theOne(t, r).Measured, "canary")
			require.Equal(t, "not asked", measured(r, "streaming"))
		})
	}
}

// TestExamine_unencrypted warns of a key that is sent over a network as it is.
func TestExamine_unencrypted(t *testing.T) {
	t.Parallel()
	s := doctortest.New(t)
	cfg := config(s)
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	next := cfg.Transport
	cfg.Client.BaseURL = "http://models.example/v1"
	cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.URL.Host = at.Host
		return next.RoundTrip(r)
	})
	require.Equal(t, "unencrypted", theOne(t, examine(t, cfg)).Name)
}

// TestExamine_nearest names models that are there instead.
func TestExamine_nearest(t *testing.T) {
	t.Parallel()
	cfg := config(doctortest.New(t))
	cfg.Client.Model = "gpt5-mini"
	found := theOne(t, examine(t, cfg))
	require.Equal(t, "model_missing", found.Name)
	require.Equal(t, "model: gpt-5-mini", found.Advice)
	cfg.Client.Model = "zzz"
	require.Equal(t, "segue models lists what there is", theOne(t, examine(t, cfg)).Advice)
}

func TestModels(t *testing.T) {
	t.Parallel()
	cfg := config(doctortest.New(t))
	list, err := doctor.Models(t.Context(), cfg)
	require.NoError(t, err)
	require.Len(t, list, 4)
	require.Equal(t, "gpt-5-mini", list[0].ID)
	require.Equal(t, 400000, list[0].Context)
	require.NotNil(t, list[0].Price, "it is known")
	require.Equal(t, 8192, list[2].Context)
	require.InDelta(t, 0.5, list[2].Price.Input, 0)
	require.InDelta(t, 2.0, list[2].Price.Output, 0)
	require.Nil(t, list[3].Price)

	cfg.Client.APIKey = "sk-canary-wrong-one"
	_, err = doctor.Models(t.Context(), cfg)
	wrong, ok := errors.AsType[*doctor.ListError](err)
	require.True(t, ok)
	require.Equal(t, http.StatusUnauthorized, wrong.Status)
	require.NotContains(t, err.Error(), "canary")

	cfg = config(doctortest.New(t, "redirect_away"))
	_, err = doctor.Models(t.Context(), cfg)
	require.EqualError(t, err, "the server redirects; set the base URL http://localhost:1/other/v1")
}
