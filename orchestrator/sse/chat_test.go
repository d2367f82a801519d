package sse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// talking is a model that does as its user says: "slowly" begins an answer that has no end, "buy"
// makes a call that needs approval.
var talking = llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	said, ok := req.Messages.Last().(messages.User)
	switch {
	case ok && said.Text() == "slowly":
		onDelta(llmclient.Delta{Text: "Once upon"})
		<-ctx.Done()
		return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Partial: messages.AssistantText("Once upon"), Err: ctx.Err()}
	case ok && said.Text() == "buy":
		call := scripted.Call("buy", `{}`, "1")
		return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}}, nil
	default:
		return &llmclient.Response{Message: messages.AssistantText("I see.")}, nil
	}
})

// chat is a chat server for all users, over one store.
type chat struct {
	*httptest.Server
	t     *testing.T
	store *watched
	told  []error
}

func newChat(t *testing.T, store *watched, edit ...func(*sse.Config)) *chat {
	t.Helper()
	o := agent(t, talking, with(echo("buy")), func(c *orchestrator.Config) {
		c.Store, c.Approve = store, &orchestrator.ApprovalConfig{Tools: map[string]machine.ApprovalPolicy{"buy": machine.AskAlways}}
	})
	c := &chat{t: t, store: store}
	cfg := sse.Config{Start: sse.Tasks(o), Follow: o, Detached: true, Owner: user}
	cfg.OnError = func(_ *http.Request, err error) { c.told = append(c.told, err) }
	for _, e := range edit {
		e(&cfg)
	}
	turns, err := sse.New(cfg)
	require.NoError(t, err)
	site := http.NewServeMux()
	site.Handle("POST /turns", turns)
	site.Handle("GET /runs/{run}", turns)
	site.Handle("/replies", turns.Replies(o))
	site.Handle("/stops", turns.Stops(o))
	site.Handle("/sessions", turns.Sessions(o))
	site.Handle("GET /sessions/{session}", turns.Sessions(o))
	site.Handle("/waits", turns.Waits(o))
	c.Server = httptest.NewServer(site)
	t.Cleanup(c.Close)
	return c
}

// open makes a request as somebody.
func (c *chat) open(as, method, path, body string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.URL+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("User", as)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Client().Do(req)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// ask makes a request as somebody, and returns the whole answer.
func (c *chat) ask(as, method, path, body string, want int) string {
	c.t.Helper()
	resp := c.open(as, method, path, body)
	data, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, want, resp.StatusCode, "%s", data)
	return string(data)
}

// session is what a client reads of a conversation.
type session struct {
	Session  string
	Title    string
	Strategy string
	Turns    int
	Run      string
	Status   checkpoint.Status
	Messages messages.History
	Waits    []machine.Wait
	Position string
}

func (c *chat) get(as, name string) (s session) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.ask(as, http.MethodGet, "/sessions/"+name, "", http.StatusOK)), &s))
	return s
}

func (c *chat) list(as string) []session {
	c.t.Helper()
	var list struct{ Sessions []session }
	require.NoError(c.t, json.Unmarshal([]byte(c.ask(as, http.MethodGet, "/sessions", "", http.StatusOK)), &list))
	return list.Sessions
}

func (c *chat) begin(as string) string {
	c.t.Helper()
	var s session
	require.NoError(c.t, json.Unmarshal([]byte(c.ask(as, http.MethodPost, "/sessions", "", http.StatusCreated)), &s))
	require.NotEmpty(c.t, s.Session)
	return s.Session
}

func turnOf(session, goal string) string {
	return `{"session":` + quoted(session) + `,"goal":` + quoted(goal) + `}`
}

// Two users talk, over a restart of the server. Each has its own conversations, and whatever one
// names of the other's is refused as what there is not, before anything is read.
func TestChat_twoUsers(t *testing.T) {
	store := new(watched)
	c := newChat(t, store)
	anns := c.begin("ann")
	require.Zero(t, c.get("ann", anns).Turns, "nothing is stored before the first turn")
	c.ask("ann", http.MethodPost, "/turns", turnOf(anns, "I am Ann."), http.StatusOK)
	c.ask("bob", http.MethodPost, "/turns", turnOf("bob:trip", "To Rome."), http.StatusOK)
	c.ask("ann", http.MethodPost, "/turns", `{"goal": "in no session"}`, http.StatusOK)

	c = newChat(t, store)
	c.ask("ann", http.MethodPost, "/turns", turnOf(anns, "Who am I?"), http.StatusOK)
	require.Len(t, c.list("ann"), 1)
	require.Equal(t, []session{{Session: "bob:trip", Title: "To Rome.", Turns: 1, Run: "bob:trip.1", Status: checkpoint.StatusDone}}, c.list("bob"))
	s := c.get("ann", anns)
	require.Equal(t, 2, s.Turns)
	require.Equal(t, checkpoint.StatusDone, s.Status)
	require.Equal(t, anns+".2", s.Run)
	require.Equal(t, "solve", s.Strategy)
	require.Len(t, s.Messages, 4)
	require.Equal(t, messages.UserText("I am Ann."), s.Messages[0])

	answers := map[string]bool{c.ask("bob", http.MethodPost, "/replies", `{"run": "bob:none"}`, http.StatusForbidden): true}
	before := store.used()
	for _, other := range []string{anns, "ann:none", "none", "bob:a:b", "bob:"} {
		answers[c.ask("bob", http.MethodPost, "/turns", turnOf(other, "x"), http.StatusForbidden)] = true
		answers[c.ask("bob", http.MethodGet, "/sessions/"+other, "", http.StatusForbidden)] = true
		answers[c.ask("bob", http.MethodGet, "/runs/"+other+":1", "", http.StatusForbidden)] = true
		answers[c.ask("bob", http.MethodPost, "/stops", `{"run": "`+other+`"}`, http.StatusForbidden)] = true
	}
	require.Len(t, answers, 1)
	require.Equal(t, before, store.used())
}

// A client goes away in the midst of an answer, comes back, and has all of it; then it stops the
// run. Nobody else stops it, and meanwhile the session takes no other turn.
func TestChat_reloadAndCancel(t *testing.T) {
	c := newChat(t, new(watched))
	c.ask("ann", http.MethodPost, "/turns", turnOf("ann:a", "Hello."), http.StatusOK)
	turn := c.open("ann", http.MethodPost, "/turns", turnOf("ann:a", "slowly"))
	for b := range blocks(turn.Body) {
		if b.name == string(machine.EventTextDelta) {
			break
		}
	}
	require.NoError(t, turn.Body.Close())

	s := c.get("ann", "ann:a")
	require.Equal(t, checkpoint.StatusRunning, s.Status)
	require.Equal(t, "ann:a.2", s.Run)
	require.Equal(t, messages.UserText("slowly"), s.Messages.Last())
	again := c.open("ann", http.MethodGet, "/runs/"+s.Run+"?after="+s.Position, "")
	require.Equal(t, http.StatusOK, again.StatusCode)
	first := make([]byte, len("id: \n\n")+len(s.Position))
	_, err := io.ReadFull(again.Body, first)
	require.NoError(t, err)
	require.Equal(t, "id: "+s.Position+"\n\n", string(first), "who is cut off again goes on from there")

	require.Contains(t, c.ask("ann", http.MethodPost, "/turns", turnOf("ann:a", "Now?"), http.StatusConflict), "in_use")
	c.ask("bob", http.MethodPost, "/stops", `{"run": "ann:a.2", "now": true}`, http.StatusForbidden)
	var events []machine.Event
	for b := range blocks(again.Body) {
		if events = append(events, b.event(t)); len(events) == 1 {
			require.Equal(t, machine.StepSnapshot{Text: "Once upon"}, events[0].Detail)
			c.ask("ann", http.MethodPost, "/stops", `{"run": "ann:a.2", "now": true, "reason": "it takes too long"}`, http.StatusAccepted)
		}
	}
	last := events[len(events)-1].Detail.(machine.RunFinished)
	require.Equal(t, machine.StatusStopped, last.Status)
	require.ErrorContains(t, last.Output.Err, "it takes too long")
	s = c.get("ann", "ann:a")
	require.Equal(t, checkpoint.StatusStopped, s.Status)
	require.Equal(t, "Once upon", s.Messages.Last().(messages.Assistant).Text())
	c.ask("ann", http.MethodGet, "/runs/"+s.Run+"?after="+s.Position, "", http.StatusNoContent)
	c.ask("ann", http.MethodGet, "/runs/"+s.Run+"?after=x", "", http.StatusBadRequest)
	c.ask("ann", http.MethodPost, "/stops", `{"run": "ann:a.2"}`, http.StatusAccepted)
	c.ask("ann", http.MethodPost, "/turns", turnOf("ann:a", "Now?"), http.StatusOK)
}

// A call waits for its user over a restart: it is in the inbox of that user, and in the
// conversation, until it is answered.
func TestChat_approval(t *testing.T) {
	store := new(watched)
	c := newChat(t, store)
	waits := func(as string) string { return c.ask(as, http.MethodGet, "/waits", "", http.StatusOK) }
	c.ask("ann", http.MethodPost, "/turns", turnOf("ann:a", "buy"), http.StatusOK)
	c = newChat(t, store)
	s := c.get("ann", "ann:a")
	require.Equal(t, checkpoint.StatusWaiting, s.Status)
	require.Len(t, s.Waits, 1)
	require.Equal(t, "buy", s.Waits[0].Tool)
	require.Equal(t, "{\"runs\":[]}\n", waits("bob"))
	var inbox struct {
		Runs []struct {
			Run, Session, Goal string
			Waits              []machine.Wait
		}
	}
	require.NoError(t, json.Unmarshal([]byte(waits("ann")), &inbox))
	require.Len(t, inbox.Runs, 1)
	require.Equal(t, "ann:a.1", inbox.Runs[0].Run)
	require.Equal(t, "ann:a", inbox.Runs[0].Session)
	require.Equal(t, "buy", inbox.Runs[0].Goal)
	require.Equal(t, s.Waits, inbox.Runs[0].Waits)

	reply := `{"run": "ann:a.1", "replies": [{"wait_id": "` + s.Waits[0].ID + `", "approve": true}]}`
	c.ask("bob", http.MethodPost, "/replies", reply, http.StatusForbidden)
	other := strings.Replace(reply, s.Waits[0].ID, "other", 1)
	require.Contains(t, c.ask("ann", http.MethodPost, "/replies", other, http.StatusConflict), `"message":"run \"ann:a.1\": the reply`)
	require.Contains(t, c.ask("ann", http.MethodPost, "/replies", reply, http.StatusOK), "buy{}")
	require.Equal(t, "{\"runs\":[]}\n", waits("ann"))
	s = c.get("ann", "ann:a")
	require.Empty(t, s.Waits)
	require.Equal(t, messages.AssistantText("I see."), s.Messages.Last())
}

// Without an Owner, Authorize is asked about the name of the session; with neither, there are none.
func TestChat_rules(t *testing.T) {
	c := newChat(t, new(watched), func(c *sse.Config) { c.Owner = nil })
	c.ask("", http.MethodPost, "/sessions", "", http.StatusForbidden)
	c.ask("", http.MethodPost, "/turns", turnOf("a", "x"), http.StatusForbidden)
	require.Empty(t, c.list(""))

	c = newChat(t, new(watched), func(c *sse.Config) {
		c.Owner, c.Namespace = nil, user
		c.Authorize = func(_ *http.Request, name string) error {
			if strings.HasPrefix(name, "secret") {
				return errors.New("it is secret")
			}
			return nil
		}
	})
	require.Len(t, c.begin("ann"), 26)
	c.ask("ann", http.MethodPost, "/turns", turnOf("secret", "x"), http.StatusForbidden)
	c.ask("ann", http.MethodPost, "/turns", turnOf("a", "x"), http.StatusOK)
	require.Len(t, c.list("ann"), 1)
	require.Empty(t, c.list("bob"), "of another namespace")
	c.ask("", http.MethodGet, "/sessions", "", http.StatusUnauthorized)
	for body, want := range map[string]int{
		`{"session": "a", "run": "r", "goal": "x"}`:           http.StatusBadRequest,
		turnOf(strings.Repeat("x", 240), "x"):                 http.StatusBadRequest,
		turnOf("a/b", "x"):                                    http.StatusForbidden,
		`{"session": "a", "strategy": "nobody", "goal": "x"}`: http.StatusNotFound,
	} {
		c.ask("ann", http.MethodPost, "/turns", body, want)
	}
	for _, body := range []string{`{"now": true}`, `{"run": "a.1", "text": "x"}`, "", `{"run": "a.1", "reason": "` + strings.Repeat("x", machine.MaxNote+1) + `"}`} {
		c.ask("ann", http.MethodPost, "/stops", body, http.StatusBadRequest)
	}
	c.ask("ann", http.MethodPost, "/stops", `{"run": "a.7"}`, http.StatusForbidden)
	c.ask("ann", http.MethodGet, "/stops", "", http.StatusMethodNotAllowed)
	c.ask("ann", http.MethodGet, "/replies", "", http.StatusMethodNotAllowed)
	c.ask("ann", http.MethodPost, "/waits", "", http.StatusMethodNotAllowed)
	c.ask("ann", http.MethodPut, "/sessions", "", http.StatusMethodNotAllowed)
}

// What cannot be read is said to who runs the server, and the rest is listed.
func TestChat_unreadable(t *testing.T) {
	store := new(watched)
	c := newChat(t, store)
	c.ask("ann", http.MethodPost, "/turns", turnOf("ann:a", "buy"), http.StatusOK)
	other := agent(t, talking, func(c *orchestrator.Config) {
		c.Store, c.Strategies = store, strategy.Set{"talk": completetask.New(completetask.Config{})} // it lacks the strategy of the run
	})
	h, err := sse.New(sse.Config{Start: sse.Tasks(other), Owner: user, OnError: func(_ *http.Request, err error) { c.told = append(c.told, err) }})
	require.NoError(t, err)
	none, err := sse.New(sse.Config{Start: sse.Tasks(agent(t, talking)), Owner: user})
	require.NoError(t, err)
	do := func(h http.Handler, method string) *http.Response {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, "/?session=ann:a", strings.NewReader(`{"run": "ann:a"}`))
		r.Header.Set("User", "ann")
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
		return w.Result()
	}
	body, err := io.ReadAll(do(h.Waits(other), http.MethodGet).Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"runs":[]}`, string(body))
	require.NotEmpty(t, c.told)
	o := agent(t, talking) // without a store
	guarded := none.Guard(func(http.ResponseWriter, *http.Request) error { return errors.New("secret") })
	refused(t, do(none.Waits(o), http.MethodGet), http.StatusInternalServerError, "internal", "what waits could not be read")
	refused(t, do(none.Sessions(o), http.MethodGet), http.StatusInternalServerError, "internal", "the sessions could not be read")
	refused(t, do(none.Stops(o), http.MethodPost), http.StatusInternalServerError, "internal", "the run could not be told")
	refused(t, do(guarded, http.MethodPost), http.StatusInternalServerError, "internal", "the request failed")
}

// torn is a store in which the head of one run is damaged.
type torn struct{ *watched }

func (s torn) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	page, err := s.watched.List(ctx, q)
	return page, errors.Join(err, fmt.Errorf("run %q: %w", "bob:x", checkpoint.ErrCorrupt))
}

// The damaged head of one run keeps no user from the lists, and is told to who runs the server.
func TestChat_damaged(t *testing.T) {
	store := new(watched)
	c := newChat(t, store)
	c.ask("ann", http.MethodPost, "/turns", turnOf("ann:a", "buy"), http.StatusOK)
	o := agent(t, talking, with(echo("buy")), func(c *orchestrator.Config) {
		c.Store, c.Approve = torn{store}, &orchestrator.ApprovalConfig{Tools: map[string]machine.ApprovalPolicy{"buy": machine.AskAlways}}
	})
	var told []error
	h, err := sse.New(sse.Config{Start: sse.Tasks(o), Owner: user, OnError: func(_ *http.Request, err error) { told = append(told, err) }})
	require.NoError(t, err)
	for _, list := range []http.Handler{h.Sessions(o), h.Waits(o)} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("User", "ann")
		list.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
		require.Contains(t, w.Body.String(), `"ann:a.1"`)
		require.NotContains(t, w.Body.String(), "bob")
	}
	require.Len(t, told, 2)
	require.ErrorContains(t, told[0], "bob:x")
}

// counted is a store that counts the heads that are listed, and the reads of runs, but for those of
// new runs.
type counted struct {
	*checkpoint.Memory
	heads, reads int
}

func (s *counted) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	page, err := s.Memory.List(ctx, q)
	s.heads += len(page.Heads)
	return page, err
}

func (s *counted) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	s.reads++
	return s.Memory.Read(ctx, key, from)
}

// The lists of a user with a namespace of its own look at no run of others, however many there are.
// Pages have the sessions in order, each once, and read the titles of their own alone.
func TestChat_pages(t *testing.T) {
	store := &counted{Memory: new(checkpoint.Memory)}
	o := agent(t, talking, with(echo("buy")), func(c *orchestrator.Config) {
		c.Store, c.Approve = store, &orchestrator.ApprovalConfig{Tools: map[string]machine.ApprovalPolicy{"buy": machine.AskAlways}}
	})
	say := func(user, session, goal string) {
		_, err := o.Run(t.Context(), orchestrator.Task{Namespace: user, Session: user + ":" + session, Input: delegation.Input{Goal: goal}})
		require.NoError(t, err)
	}
	for _, name := range []string{"a", "b", "c"} {
		say("ann", name, "To "+name)
		say("ann", name, "buy")
	}
	h, err := sse.New(sse.Config{Start: sse.Tasks(o), Owner: user, Namespace: user})
	require.NoError(t, err)
	get := func(route http.Handler, query string) *http.Response {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+query, http.NoBody)
		r.Header.Set("User", "ann")
		store.heads, store.reads = 0, 0
		route.ServeHTTP(w, r)
		return w.Result()
	}
	for range 2 {
		var titles []string
		next, pages := "", 0
		for ; pages == 0 || next != ""; pages++ {
			var page struct {
				Sessions []session
				Next     string
			}
			require.NoError(t, json.NewDecoder(get(h.Sessions(o), "limit=2&after="+next).Body).Decode(&page))
			require.LessOrEqual(t, len(page.Sessions), 2)
			for _, s := range page.Sessions {
				titles = append(titles, s.Session+" "+s.Title)
			}
			require.Equal(t, 6, store.heads, "those of ann")
			require.Equal(t, len(page.Sessions), store.reads, "the titles of the page")
			next = page.Next
		}
		require.Equal(t, []string{"ann:c To c", "ann:b To b", "ann:a To a"}, titles)
		require.Equal(t, 2, pages)

		require.Equal(t, http.StatusOK, get(h.Waits(o), "").StatusCode)
		require.Equal(t, 3, store.heads)
		require.Equal(t, 3, store.reads)

		for i := range 50 { // and again with others beside them
			say("bob", strconv.Itoa(i), "buy")
		}
	}
	for query, problem := range map[string]string{"after=x": "not that of a list", "limit=x": "not a number"} {
		refused(t, get(h.Sessions(o), query), http.StatusBadRequest, "bad_request", problem)
	}
}

// A handler of the program's own decides by the same rules, and refuses in the same way.
func TestGuard(t *testing.T) {
	h, err := sse.New(sse.Config{Start: sse.Tasks(agent(t, talking)), Owner: user, Namespace: user, Origins: []string{"https://app.example.com"}, MaxBody: 10})
	require.NoError(t, err)
	site := http.NewServeMux()
	site.Handle("/runs/{run}/title", h.Guard(func(w http.ResponseWriter, r *http.Request) error {
		if err := sse.Authorized(r, r.PathValue("run")); err != nil {
			return err
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, sse.Namespace(r)+" calls it "+string(body))
		return err
	}))
	do := func(method, as, body string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, "/runs/ann:1/title", strings.NewReader(body))
		r.Header.Set("User", as)
		r.Header.Set("Origin", "https://app.example.com")
		if method == http.MethodOptions {
			r.Header.Set("Access-Control-Request-Method", http.MethodPut)
		}
		site.ServeHTTP(w, r)
		return w
	}
	require.Equal(t, "ann calls it Rome", do(http.MethodPut, "ann", "Rome").Body.String())
	refused(t, do(http.MethodPut, "bob", "Rome").Result(), http.StatusForbidden, "run", "no such run or session")
	refused(t, do(http.MethodPut, "", "Rome").Result(), http.StatusUnauthorized, "who", "say who")
	refused(t, do(http.MethodPut, "ann", "a trip to Rome").Result(), http.StatusRequestEntityTooLarge, "too_large", "too large")
	preflight := do(http.MethodOptions, "", "")
	require.Equal(t, http.StatusNoContent, preflight.Code)
	require.Equal(t, http.MethodPut, preflight.Header().Get("Access-Control-Allow-Methods"))
	require.Error(t, sse.Authorized(httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/runs/ann:1/title", http.NoBody), "ann:1"))
}
