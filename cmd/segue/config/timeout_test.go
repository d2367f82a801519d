package config

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

func TestParseIdleTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, endpoint.NoTimeout: -1, "90s": 90 * time.Second, "1h": time.Hour} {
		got, err := endpoint.ParseIdleTimeout(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"0", "0s", "-1s", "2", "None", "soon"} {
		_, err := endpoint.ParseIdleTimeout(text)
		require.EqualError(t, err, "must be a duration above zero, such as 90s or 10m, or none", text)
	}
}

// silent is a transport whose servers never answer. It makes no connection.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestIdleTimeout_order asks a silent server: the option is stronger than the environment, and that
// is stronger than the file.
func TestIdleTimeout_order(t *testing.T) {
	transport := http.DefaultTransport
	http.DefaultTransport = silent{}
	t.Cleanup(func() { http.DefaultTransport = transport })
	for _, tt := range []struct {
		option, env, file string
		want              time.Duration
	}{
		{"", "", "", 2 * time.Minute},
		{"", "", "30s", 30 * time.Second},
		{"", "40s", "30s", 40 * time.Second},
		{"50s", "40s", "30s", 50 * time.Second},
		{"none", "40s", "30s", time.Hour}, // that of the caller
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := ClientOptions{IdleTimeout: tt.option, BaseURL: "http://nowhere.test", Getenv: func(name string) string {
					return map[string]string{endpoint.IdleTimeoutVariable: tt.env}[name]
				}}
				f, err := Parse("f", []byte("models: {m: {model: x, base_url: 'http://nowhere.test', limits: {idle_timeout: '"+tt.file+"'}}}\nagents: {a: {model: m}}\n"))
				require.NoError(t, err)
				setup, err := f.Setup("a", Options{})
				require.NoError(t, err)
				configured, err := setup.Client(o)
				require.NoError(t, err)
				clients := map[string]llmclient.Client{address(setup.Strategy): configured}
				if tt.file == "" || tt.env != "" {
					clients[""], err = EnvironmentClient(o)
					require.NoError(t, err)
				}
				for agent, client := range clients {
					started := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					_, err = client.Complete(ctx, &llmclient.Request{Model: agent, Messages: messages.History{messages.UserText("hi")}}, func(llmclient.Delta) {})
					cancel()
					require.Equal(t, llmclient.CodeTimeout, llmclient.CodeOf(err))
					require.Equal(t, tt.want, time.Since(started))
				}
			})
		})
	}
	for _, o := range []ClientOptions{
		{IdleTimeout: "soon", BaseURL: "http://nowhere.test"},
		{Getenv: func(string) string { return "soon" }, BaseURL: "http://nowhere.test"},
	} {
		_, err := EnvironmentClient(o)
		require.ErrorContains(t, err, "soon: must be a duration above zero")
	}
}

// TestRetries asks a server that is down: retries: 0 asks it once, and a notice names the model.
func TestRetries(t *testing.T) {
	for retries, want := range map[string]int{"0": 1, "-1": 1, "1": 2} {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		s.Config.SetKeepAlivesEnabled(false)
		f, err := Parse("f", []byte("models: {m: {model: x, base_url: '"+s.URL+"', limits: {retries: "+retries+"}}}\nagents: {a: {model: m}}\n"))
		require.NoError(t, err)
		setup, err := f.Setup("a", Options{})
		require.NoError(t, err)
		client, err := setup.Client(ClientOptions{Getenv: func(string) string { return "" }})
		require.NoError(t, err)
		var notices []llmclient.Notice
		ctx := llmclient.WithNotify(t.Context(), func(n llmclient.Notice) { notices = append(notices, n) })
		_, err = client.Complete(ctx, &llmclient.Request{Model: address(setup.Strategy), Messages: messages.History{messages.UserText("hi")}}, nil)
		require.Equal(t, llmclient.CodeUnavailable, llmclient.CodeOf(err))
		require.Equal(t, want, asked, retries)
		require.Len(t, notices, want-1)

		client, err = EnvironmentClient(ClientOptions{BaseURL: s.URL, Model: "y", Getenv: func(name string) string { return map[string]string{endpoint.KeyVariable: "k"}[name] }})
		require.NoError(t, err)
		stop, cancel := context.WithCancel(t.Context())
		notices = nil
		stop = llmclient.WithNotify(stop, func(n llmclient.Notice) { notices = append(notices, n); cancel() })
		_, err = client.Complete(stop, &llmclient.Request{Messages: messages.History{messages.UserText("hi")}}, nil)
		require.Error(t, err)
		require.Equal(t, "y", notices[0].Model)
		s.Close()
	}
}
