package llmclienttest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/tools"
)

// A reply whose connection breaks is an error with what has come; one that is finished is whole.
func (h HTTP) brokenConnections(t *testing.T) {
	for body, text := range map[string]string{h.Half: "half", h.Whole[:len(h.Whole)/2]: "", "": "", h.Half + h.Rest: allText} {
		c, _ := h.serve(t, Settings{}, func(w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusOK, body)
			panic(http.ErrAbortHandler)
		})
		resp, err := ask(t.Context(), c, true)
		if text == allText {
			require.Nil(t, err)
			require.Equal(t, text, resp.Message.Text())
			continue
		}
		require.NotNil(t, err, body)
		require.Equal(t, llmclient.CodeUnavailable, err.Code, err)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, text, err.Partial.Text())
		require.Empty(t, err.Partial.Calls())
	}
}

// An answer is read as far as its limit.
func (h HTTP) bounds(t *testing.T) {
	for _, body := range []string{h.Half + strings.Repeat(": a comment\n\n", 20_000) + h.Rest, "data: " + strings.Repeat("x", 200_000), strings.Repeat("\n", 200_000) + h.Whole} {
		answer := func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, body) }
		c, _ := h.serve(t, Settings{MaxResponse: 100_000}, answer)
		_, err := ask(t.Context(), c, true)
		require.NotNil(t, err)
		require.Equal(t, llmclient.CodeBadResponse, err.Code, err)
		require.Contains(t, err.Message, "100000 bytes")
		require.Less(t, len(err.Error()), 500)
		if strings.Contains(body, "xxx") {
			continue
		}
		c, _ = h.serve(t, Settings{MaxResponse: -1}, answer)
		_, err = ask(t.Context(), c, true)
		require.Nil(t, err)
	}
}

// A connection is used again, for which an answer has to be read to its end.
func (h HTTP) reused(t *testing.T) {
	c, got := h.serve(t, Settings{}, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, h.Half+h.Rest) })
	for range 5 {
		_, err := ask(t.Context(), c, true)
		require.Nil(t, err)
	}
	require.Len(t, got.from, 1)
}

// Neither the key nor the conversation goes to another server. On the same server a redirect is
// followed, with all of the request.
func (h HTTP) redirects(t *testing.T) {
	seen := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen++ }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, own := range []*http.Client{nil, http.DefaultClient} {
			c, _ := h.serve(t, Settings{Client: own, Retries: 3}, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/elsewhere", status)
			})
			_, err := ask(t.Context(), c, false)
			require.NotNil(t, err)
			require.Equal(t, llmclient.CodeNotFound, err.Code, "to try again would not help")
			require.Contains(t, err.Message, "the server redirects to "+other.URL+"/elsewhere, and that is not followed")
		}
	}
	require.Zero(t, seen)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()

	c, got := h.serve(t, Settings{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2" {
			http.Redirect(w, r, "/v2", http.StatusTemporaryRedirect)
			return
		}
		say(w, http.StatusOK, h.Whole)
	})
	resp, err := ask(t.Context(), c, false)
	require.Nil(t, err)
	require.Equal(t, allText, resp.Message.Text())
	require.Len(t, got.bodies, 2)
	require.Equal(t, got.bodies[0], got.bodies[1])
	require.Contains(t, fmt.Sprint(got.last.Header), secret)
}

// A redirect that leads nowhere is asked once, however often a request may be tried.
func (h HTTP) circles(t *testing.T) {
	for location, says := range map[string]string{
		"/again": "that is not followed", "http://[::1": "the server redirects to an address that cannot be read", "": "Temporary Redirect",
	} {
		asked := 0
		c, _ := h.serve(t, Settings{Retries: 3}, func(w http.ResponseWriter, r *http.Request) {
			if asked++; location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		_, err := ask(t.Context(), c, false)
		require.NotNil(t, err)
		require.Equal(t, llmclient.CodeNotFound, err.Code, location)
		require.ErrorContains(t, err, says)
		require.LessOrEqual(t, asked, 10)
		if location != "/again" {
			require.Equal(t, 1, asked, location)
		}
	}
	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("the caller follows none") }}
	c, _ := h.serve(t, Settings{Client: own}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			say(w, http.StatusOK, h.Whole)
			return
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	_, err := ask(t.Context(), c, false)
	require.NotNil(t, err)
	require.ErrorContains(t, err, "that is not followed")
	own.CloseIdleConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// Temporary errors such as a rate limit or a stream that ends are retried and reported; nobody but
// the client retries.
func (h HTTP) retries(t *testing.T) {
	asked := 0
	c, _ := h.serve(t, Settings{Retries: 2}, func(w http.ResponseWriter, _ *http.Request) {
		switch asked++; asked {
		case 1:
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			say(w, http.StatusOK, h.Half)
		default:
			say(w, http.StatusOK, h.Half+h.Rest)
		}
	})
	var told []llmclient.Notice
	ctx := llmclient.WithNotify(t.Context(), func(n llmclient.Notice) { told = append(told, n) })
	resp, err := ask(ctx, c, true)
	require.Nil(t, err)
	require.Equal(t, allText, resp.Message.Text())
	require.Len(t, resp.Attempts, 2)
	require.Equal(t, llmclient.CodeRateLimited, resp.Attempts[0].Code)
	require.Equal(t, llmclient.CodeTruncated, resp.Attempts[1].Code)
	require.Len(t, told, 2)
	require.True(t, told[1].Discard)

	asked = 0
	c, _ = h.serve(t, Settings{}, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("X-Should-Retry", "true")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_, err = ask(t.Context(), c, true)
	require.NotNil(t, err)
	require.Equal(t, 1, asked)
	require.Equal(t, 2*time.Second, err.RetryAfter)
}

// Whatever a server or a transport repeats of the key, and wherever, no error has it: where a text
// is cut, at its end, in escapes.
func (h HTTP) secrets(t *testing.T) {
	const odd = `sk-canary/+0123&456<789>"abcdefghijklmnop`
	s := Settings{Header: "header-canary-value", Query: "query-canary-value"}
	for _, repeat := range []func(*http.Request) string{
		func(*http.Request) string { return "you sent " + secret },
		func(r *http.Request) string { return fmt.Sprint("you sent ", r.Header, r.URL) },
		func(*http.Request) string { return strings.Repeat("x", 290) + secret },
	} {
		h.keepsSecret(t, s, repeat)
	}
	s.Key = odd
	for _, pad := range []int{0, 60, 270, 300 - len(odd) + 1, 290, 480, 500, 1965, 1999, 2000 - len(odd) + 1} {
		h.keepsSecret(t, s, func(*http.Request) string {
			return strings.Repeat("x", pad) + odd + " tail " + strings.Repeat("y", 3000)
		})
	}
	half, _ := h.serve(t, Settings{Idle: time.Minute}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "no such key: "+secret[:len(secret)-2])
		w.(http.Flusher).Flush()
		<-r.Context().Done() // of a text that comes in pieces only the first may be read
	})
	_, err := ask(t.Context(), half, false)
	require.ErrorContains(t, err, "no such key: [redacted]")
	require.NotContains(t, err.Error(), "canary")
	fails := h.New(Settings{URL: "http://nowhere.test", Key: secret, Retries: -1, Client: &http.Client{Transport: failing{}}})
	_, err = ask(t.Context(), fails, false)
	require.ErrorContains(t, err, "cannot send [redacted]")
}

// keepsSecret has a server repeat something in every form.
func (h HTTP) keepsSecret(t *testing.T, s Settings, repeat func(*http.Request) string) {
	t.Helper()
	key := cmp.Or(s.Key, secret)
	for _, form := range []string{
		"%s", `{"error":{"message":%q,"type":%q}}`, `{"message":%q}`, `{"detail":[{"msg":%q}]}`, `{"cut":%q`, "<html>%s", h.Half + "data: {%s\n\n",
		`{"error":{"message":"x","code":"tool_use_failed","failed_generation":%q}}`, "event: error\ndata: {\"error\":{\"message\":%q}}\n\n",
	} {
		for _, status := range []int{http.StatusOK, http.StatusTemporaryRedirect, http.StatusBadRequest, http.StatusUnauthorized, http.StatusInternalServerError} {
			c, _ := h.serve(t, s, func(w http.ResponseWriter, r *http.Request) {
				quoted, _ := json.Marshal(repeat(r))
				w.Header().Set("X-Request-Id", key)
				w.Header().Set("Request-Id", key)
				if key == secret { // another one would be written otherwise there
					w.Header().Set("Location", "http://other.test/"+key+"?"+r.URL.RawQuery)
				}
				say(w, status, strings.NewReplacer("%s", repeat(r), "%q", string(quoted)).Replace(form))
			})
			_, err := ask(t.Context(), c, true)
			require.NotNil(t, err)
			said := fmt.Sprintf("%v %+v %#v %v %s %s %s", err, err, err, errors.Unwrap(err), err.Type, err.RequestID, err.Generated)
			require.NotContains(t, said, "canary", "%s %d", form, status)
			require.NotContains(t, said, base64.StdEncoding.EncodeToString([]byte(key)))
		}
	}
}

// failing is a transport that says what it could not send.
type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("cannot send " + secret)
}

// A tool whose schema the server refuses is left out, and named.
func (h HTTP) refusedTools(t *testing.T) {
	var got *Server
	var c llmclient.Client
	var bodies []string
	c, got = h.serve(t, Settings{}, func(w http.ResponseWriter, _ *http.Request) {
		if bodies = slices.Clone(got.bodies); strings.Contains(bodies[len(bodies)-1], `"odd"`) {
			say(w, http.StatusBadRequest, h.Refusal)
			return
		}
		say(w, http.StatusOK, h.Whole)
	})
	req := hello()
	req.Tools = []tools.Definition{
		{Name: "list_team", Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "odd", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"nothing"}}}`)},
	}
	var told []llmclient.Notice
	ctx := llmclient.WithNotify(t.Context(), func(n llmclient.Notice) { told = append(told, n) })
	for _, onDelta := range []func(llmclient.Delta){nil, func(llmclient.Delta) {}} {
		resp, err := c.Complete(ctx, req, onDelta)
		require.NoError(t, err)
		require.Equal(t, allText, resp.Message.Text())
		require.Len(t, told, 1, "only the first request is made twice")
		require.Equal(t, llmclient.NoticeToolLeftOut, told[0].Kind)
		require.ErrorContains(t, told[0].Err, `the tool "odd" is left out`)
		require.Equal(t, onDelta == nil, len(resp.Attempts) == 1)
	}
	require.Len(t, bodies, 3)
	require.Contains(t, bodies[2], `"list_team"`)

	req.ToolChoice = llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "odd"}
	_, err := c.Complete(ctx, req, nil)
	require.Equal(t, llmclient.CodeBadRequest, llmclient.CodeOf(err))
	require.Len(t, bodies, 4)
}
