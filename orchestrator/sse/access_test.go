package sse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/tools"
)

// anyRun lets every request name every run.
func anyRun(*http.Request, string) error { return nil }

// user is an Owner that believes a header.
func user(r *http.Request) (string, error) {
	if name := r.Header.Get("User"); name != "" {
		return name, nil
	}
	return "", &sse.Error{Status: http.StatusUnauthorized, Code: "who", Message: "say who you are"}
}

// watched is a store that counts what is read and written.
type watched struct {
	checkpoint.Memory
	mu   sync.Mutex
	uses int
}

func (s *watched) Append(ctx context.Context, b checkpoint.Batch) error {
	s.use()
	return s.Memory.Append(ctx, b)
}

func (s *watched) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	s.use()
	return s.Memory.Read(ctx, key, from)
}

func (s *watched) use() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
}

func (s *watched) used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses
}

// site is two handlers over one store, and what they were told of.
type site struct {
	t              *testing.T
	store          *watched
	agent          *orchestrator.Orchestrator
	tasks, replies *httptest.Server

	mu    sync.Mutex
	told  []error
	asked []string
}

// asking is a model that asks its user once in every run.
var asking = llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
	if _, answered := req.Messages.Last().(messages.Tool); answered {
		return &llmclient.Response{Message: messages.AssistantText("done")}, nil
	}
	call := scripted.Call("ask_user", `{"question":"Which file?"}`, "1")
	return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}}, nil
})

// newSite makes a site with the model asking.
func newSite(t *testing.T, edit func(*sse.Config)) *site {
	t.Helper()
	s := &site{t: t, store: new(watched)}
	s.agent = agent(t, asking, with(tools.AskUser()), func(c *orchestrator.Config) { c.Store = s.store })
	for _, end := range []struct {
		start  sse.Start
		server **httptest.Server
	}{{sse.Tasks(s.agent), &s.tasks}, {sse.Replies(s.agent), &s.replies}} {
		cfg := sse.Config{Start: end.start, OnError: func(_ *http.Request, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, err)
		}}
		edit(&cfg)
		*end.server, _ = serve(t, cfg)
	}
	return s
}

// post posts a body as somebody, and returns the status and what came.
func (s *site) post(to *httptest.Server, as, body string) (status int, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, to.URL, strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	if as != "" {
		req.Header.Set("User", as)
	}
	resp, err := to.Client().Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, string(data)
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// Without a rule a client names no run: whatever the id, the answer is the same, nothing is read or
// stored, and who runs the server hears why.
func TestAccess_withoutARule(t *testing.T) {
	s := newSite(t, func(*sse.Config) {})
	_, err := s.agent.Run(t.Context(), orchestrator.Task{Run: "alice-1", Input: delegation.Input{Goal: "my PIN is 1234"}})
	require.NoError(t, err)
	before := s.store.used()
	answers := map[string]bool{}
	for _, id := range []string{"alice-1", "free", "alice-1/1/call_1"} {
		for to, body := range map[*httptest.Server]string{s.tasks: `{"run": %q, "goal": "x"}`, s.replies: `{"run": %q}`} {
			status, text := s.post(to, "", fmt.Sprintf(body, id))
			require.Equal(t, http.StatusForbidden, status)
			answers[text] = true
		}
	}
	require.Len(t, answers, 1, "%v", answers)
	require.Equal(t, before, s.store.used(), "nothing is read or stored")
	require.Len(t, s.told, 6)
	require.ErrorContains(t, s.told[0], "Config has neither Owner nor Authorize")

	status, _ := s.post(s.tasks, "", `{"goal": "x"}`)
	require.Equal(t, http.StatusOK, status, "a run that the server names")
}

// What is taken, what is somebody else's and what there is not look the same.
func TestAccess_idsCannotBeProbed(t *testing.T) {
	s := newSite(t, func(c *sse.Config) { c.Owner = user })
	status, _ := s.post(s.tasks, "alice", `{"run": "alice:1", "goal": "x"}`)
	require.Equal(t, http.StatusOK, status)
	answers := map[string]string{}
	for name, try := range map[string]struct {
		to       *httptest.Server
		as, body string
	}{
		"taken by somebody else":     {s.tasks, "bob", `{"run": "alice:1", "goal": "x"}`},
		"free, and somebody else's":  {s.tasks, "bob", `{"run": "alice:2", "goal": "x"}`},
		"to go on with a stranger's": {s.replies, "bob", `{"run": "alice:1"}`},
		"to answer a stranger's":     {s.replies, "bob", `{"run": "alice:1", "replies": [{"wait_id": "x"}]}`},
		"unknown, and one's own":     {s.replies, "bob", `{"run": "bob:7"}`},
		"unknown, a stranger's":      {s.replies, "bob", `{"run": "alice:7"}`},
		"nobody's":                   {s.replies, "bob", `{"run": "1"}`},
	} {
		status, text := s.post(try.to, try.as, try.body)
		require.Equal(t, http.StatusForbidden, status, name)
		require.NotContains(t, text, "alice", name)
		answers[text] = name
	}
	require.Len(t, answers, 1, "%v", answers)
	require.Len(t, s.told, 7, "who runs the server hears what the client does not")

	status, text := s.post(s.tasks, "alice", `{"run": "alice:1", "goal": "x"}`)
	require.Equal(t, http.StatusConflict, status, "one's own is no secret")
	require.Contains(t, text, `"code":"in_use"`)
	require.NotContains(t, text, "alice")
}

// The ids of an owner name no run of another one, nor that of an agent.
func TestAccess_ownersApart(t *testing.T) {
	s := newSite(t, func(c *sse.Config) { c.Owner = user })
	for _, try := range []struct{ as, id string }{
		{"al", "alice:1"},
		{"alice", "al:1"},
		{"a", "a:b:1"},
		{"alice", "alice:"},
		{"alice", "alice"},
		{"alice", ":1"},
		{"alice", "alice:1/3/call_1"},
		{"alice", "alice:/"},
		{"alice", "Alice:1"},
		{"alice", "alice:" + strings.Repeat("x", 300)},
		{"alice", "alice:\u0000"},
		{"alice", "alice:a\nb"},
	} {
		for to, body := range map[*httptest.Server]string{s.tasks: `{"run": %s, "goal": "x"}`, s.replies: `{"run": %s}`} {
			status, text := s.post(to, try.as, fmt.Sprintf(body, quoted(try.id)))
			require.Equal(t, http.StatusForbidden, status, "%v: %s", try, text)
		}
	}
	require.Zero(t, s.store.used())
	for _, try := range []struct{ as, id string }{{"a", "a:1"}, {"a:b", "a:b:1"}, {"al", "al:1"}} {
		status, text := s.post(s.tasks, try.as, fmt.Sprintf(`{"run": %q, "goal": "x"}`, try.id))
		require.Equal(t, http.StatusOK, status, "%v: %s", try, text)
	}
	for _, owner := range []string{"a/1/b", "\x01", "", strings.Repeat("x", 250)} { // nobody is not everybody
		broken, _ := serve(t, sse.Config{Start: sse.Tasks(s.agent), Owner: func(*http.Request) (string, error) { return owner, nil }})
		refused(t, post(t, t.Context(), broken, `{"goal": "x"}`), http.StatusInternalServerError, "internal", "could not be started")
	}
}

// A run that the server names for an owner is the owner's to go on with.
func TestAccess_namesRunsForTheirOwner(t *testing.T) {
	s := newSite(t, func(c *sse.Config) { c.Owner = user })
	status, _ := s.post(s.tasks, "", `{"goal": "x"}`)
	require.Equal(t, http.StatusUnauthorized, status, "the error of Owner is shown as it is")

	_, text := s.post(s.tasks, "alice", `{"goal": "x"}`)
	var end machine.Event
	for b := range blocks(strings.NewReader(text)) {
		end = b.event(t)
	}
	require.Regexp(t, `^alice:[A-Z2-7]{26}$`, end.Run)
	wait := end.Detail.(machine.RunFinished).Waits[0].ID
	body := fmt.Sprintf(`{"run": %q, "replies": [{"wait_id": %q, "text": "a.txt"}]}`, end.Run, wait)
	status, _ = s.post(s.replies, "bob", body)
	require.Equal(t, http.StatusForbidden, status)
	status, text = s.post(s.replies, "alice", body)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "done")
}

// Authorize decides about what Owner leaves over; it is asked once, before anything is read or
// stored.
func TestAccess_authorize(t *testing.T) {
	var s *site
	s = newSite(t, func(c *sse.Config) {
		c.Authorize = func(r *http.Request, run string) error {
			s.mu.Lock()
			s.asked = append(s.asked, run)
			s.mu.Unlock()
			switch run {
			case "mine":
				return nil
			case "later":
				return &sse.Error{Status: http.StatusTooManyRequests, Code: "later", Message: "ask later"}
			}
			return errors.New("the row is missing")
		}
	})
	for _, to := range []*httptest.Server{s.tasks, s.replies} {
		status, text := s.post(to, "", `{"run": "other"`+map[bool]string{true: `, "goal": "x"`}[to == s.tasks]+`}`)
		require.Equal(t, http.StatusForbidden, status)
		require.NotContains(t, text, "row")
		status, _ = s.post(to, "", `{"run": "later"`+map[bool]string{true: `, "goal": "x"`}[to == s.tasks]+`}`)
		require.Equal(t, http.StatusTooManyRequests, status)
	}
	require.Zero(t, s.store.used())
	require.Equal(t, []string{"other", "later", "other", "later"}, s.asked)
	require.ErrorContains(t, s.told[0], "the row is missing")

	status, _ := s.post(s.tasks, "", `{"run": "mine", "goal": "x"}`)
	require.Equal(t, http.StatusOK, status)
	status, _ = s.post(s.replies, "", `{"run": "mine"}`)
	require.Equal(t, http.StatusOK, status)
	status, _ = s.post(s.tasks, "", `{"run": "mine/1/call_1", "goal": "x"}`)
	require.Equal(t, http.StatusForbidden, status, "the run of an agent")
	require.Equal(t, []string{"mine", "mine"}, s.asked[4:])
}

// A Start of one's own asks the same rules, and without a Handler there are none to let it.
func TestAuthorized(t *testing.T) {
	server, _ := serve(t, sse.Config{Start: func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
		if err := sse.Authorized(r, r.URL.Query().Get("run")); err != nil {
			return nil, err
		}
		return nil, &sse.Error{Status: http.StatusTeapot, Code: "in", Message: "let in"}
	}, Authorize: func(_ *http.Request, run string) error {
		if run == "mine" {
			return nil
		}
		return errors.New("no")
	}})
	base := server.URL
	server.URL = base + "?run=mine"
	refused(t, post(t, t.Context(), server, ""), http.StatusTeapot, "in", "let in")
	server.URL = base + "?run=other"
	refused(t, post(t, t.Context(), server, ""), http.StatusForbidden, "run", "no such run or session")
	require.Error(t, sse.Authorized(httptest.NewRequest(http.MethodGet, "/", nil), "mine"))
}

// A client that stops in the middle of its body, or sends it byte by byte, is answered and let go
// of.
func TestReadTimeout(t *testing.T) {
	for _, path := range []string{"in the middle", "drips", "refused before the body", "wrong method"} {
		t.Run(path, func(t *testing.T) {
			cfg := sse.Config{Start: sse.Tasks(agent(t, scripted.New())), ReadTimeout: 100 * time.Millisecond}
			method, status := http.MethodPost, "408"
			switch path {
			case "refused before the body":
				cfg.Owner, status = func(*http.Request) (string, error) { return "", errors.New("no") }, "403"
			case "wrong method":
				method, status = http.MethodPut, "405"
			}
			server, over := serve(t, cfg)
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"goal\": \"", method)
			require.NoError(t, err)
			stop := make(chan struct{})
			var dripping sync.WaitGroup
			defer waittest.All(t, &dripping)
			defer close(stop)
			if path == "drips" {
				dripping.Go(func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(5 * time.Millisecond):
							_, _ = conn.Write([]byte("x"))
						}
					}
				})
			}
			answer, _ := io.ReadAll(conn) // the server closes the connection
			require.Contains(t, string(answer), "HTTP/1.1 "+status)
			waittest.Receive(t, over)
		})
	}
}

// The deadline is for the body alone: neither a Start that takes its time behind it nor a long run
// is ended by it.
func TestReadTimeout_isForTheBody(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", http2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const limit = 500 * time.Millisecond
				released := make(chan struct{})
				start := sse.Tasks(agent(t, waiting(released)))
				server := servePiped(t, sse.Config{ReadTimeout: limit, Start: func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
					events, err := start(r)
					time.Sleep(2 * limit)
					return events, err
				}}, func(s *httptest.Server) { s.EnableHTTP2 = http2 })
				resp := post(t, t.Context(), server, `{"goal": "go"}`)
				time.AfterFunc(2*limit, func() { close(released) })
				got, _ := read(t, resp)
				require.Equal(t, machine.StatusDone, got[len(got)-1].Detail.(machine.RunFinished).Status)
			})
		})
	}
}
