package sse_test

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
)

// refused checks that a request was refused.
func refused(t *testing.T, resp *http.Response, status int, code, message string) {
	t.Helper()
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var body map[string]map[string]string
	require.NoError(t, json.Unmarshal(data, &body), "%s", data)
	require.Equal(t, status, resp.StatusCode, "%s", data)
	require.Equal(t, code, body["error"]["code"], "%s", data)
	require.Contains(t, body["error"]["message"], message)
	require.Less(t, len(data), 700)
	require.Len(t, body, 1)
	require.Len(t, body["error"], 2)
}

func TestNew_needsAStart(t *testing.T) {
	_, err := sse.New(sse.Config{})
	require.EqualError(t, err, "sse: Config.Start is nil: there is nothing to stream")
}

// What is wrong with a request is said before anything is started.
func TestTasks_refuses(t *testing.T) {
	model := scripted.New()
	server, _ := serve(t, sse.Config{Start: sse.Tasks(agent(t, model)), MaxBody: 2000})
	long := strings.Repeat("x", 1500)
	for name, test := range map[string]struct {
		body    string
		status  int
		code    string
		message string
	}{
		"empty":            {"", http.StatusBadRequest, "bad_request", "the body is empty"},
		"not JSON":         {`{"goal": x}`, http.StatusBadRequest, "bad_request", "the body is not JSON at byte 10"},
		"cut":              {`{"goal": "go"`, http.StatusBadRequest, "bad_request", "the body is not JSON: it ends too early"},
		"no object":        {`[]`, http.StatusBadRequest, "bad_request", "the body is not a JSON object"},
		"nothing to do":    {`{}`, http.StatusBadRequest, "bad_request", "there is nothing to do"},
		"null":             {`null`, http.StatusBadRequest, "bad_request", "there is nothing to do"},
		"wrong type":       {`{"goal": 3}`, http.StatusBadRequest, "bad_request", `the field "goal" of the body cannot be a number`},
		"unknown field":    {`{"goal": "go", "limits": {"steps": -1}}`, http.StatusBadRequest, "bad_request", `the body cannot be read: unknown field "limits"`},
		"long field":       {`{"` + long + `": 1}`, http.StatusBadRequest, "bad_request", "unknown field"},
		"two objects":      {`{"goal": "go"} {"goal": "on"}`, http.StatusBadRequest, "bad_request", "the body holds more than one JSON object"},
		"rubbish behind":   {`{"goal": "go"} x`, http.StatusBadRequest, "bad_request", "the body is not JSON at byte 1"},
		"bad messages":     {`{"messages": {"v": 9}}`, http.StatusBadRequest, "bad_request", "messages: "},
		"too large":        {`{"goal": "` + long + long + `"}`, http.StatusRequestEntityTooLarge, "too_large", "the body is too large"},
		"too large behind": {`{"goal": "go"}` + strings.Repeat(" ", 3000), http.StatusRequestEntityTooLarge, "too_large", "the body is too large"},
		"unknown strategy": {`{"goal": "go", "strategy": "nobody"}`, http.StatusNotFound, "unknown_strategy", `no strategy "nobody"; known: solve`},
		"long strategy":    {`{"goal": "go", "strategy": "` + long + `"}`, http.StatusNotFound, "unknown_strategy", `no strategy "x`},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, post(t, t.Context(), server, test.body), test.status, test.code, test.message)
		})
	}
	require.Empty(t, model.Requests())
}

func TestMethods(t *testing.T) {
	do := func(server *httptest.Server, method string, header ...string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader(`{"goal": "go"}`))
		require.NoError(t, err)
		if len(header) > 0 {
			req.Header.Set(header[0], header[1])
		}
		resp, err := server.Client().Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	model := scripted.New(scripted.Text("done"))
	o := agent(t, model)
	posts, _ := serve(t, sse.Config{Start: sse.Tasks(o)})
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions} {
		resp := do(posts, method)
		require.Equal(t, "POST", resp.Header.Get("Allow"))
		refused(t, resp, http.StatusMethodNotAllowed, "method_not_allowed", "POST")
	}
	require.Equal(t, http.StatusMethodNotAllowed, do(posts, http.MethodHead).StatusCode)
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "nonsense;;"} {
		refused(t, do(posts, http.MethodPost, "Content-Type", media), http.StatusUnsupportedMediaType, "media_type", "application/json")
	}

	gets, _ := serve(t, sse.Config{Methods: []string{http.MethodGet}, Start: func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
		if r.URL.Query().Get("goal") == "" {
			return nil, &sse.Error{Status: http.StatusUnprocessableEntity, Code: "goal", Message: "say what to do"}
		}
		return o.Stream(r.Context(), orchestrator.Task{Input: delegation.Input{Goal: r.URL.Query().Get("goal")}}), nil
	}})
	refused(t, do(gets, http.MethodGet), http.StatusUnprocessableEntity, "goal", "say what to do")
	require.Equal(t, "GET, HEAD", do(gets, http.MethodPost).Header.Get("Allow"))
	gets.URL += "?goal=go"
	head := do(gets, http.MethodHead)
	require.Equal(t, http.StatusOK, head.StatusCode)
	require.Equal(t, "text/event-stream", head.Header.Get("Content-Type"))
	require.Equal(t, http.StatusNoContent, do(gets, http.MethodGet, "Last-Event-ID", "3").StatusCode)
	require.Empty(t, model.Requests(), "nothing has been started")
	events, _ := read(t, do(gets, http.MethodGet))
	require.Equal(t, machine.EventRunFinished, events[len(events)-1].Kind)
}

// Errors that are nobody's business are not shown; whoever runs the server hears of them.
func TestInternalErrors(t *testing.T) {
	secret := errors.New("the password is 1234")
	events := func(list ...machine.Event) iter.Seq2[machine.Event, error] {
		return func(yield func(machine.Event, error) bool) {
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
			if len(list) > 0 {
				yield(machine.Event{}, secret)
			}
		}
	}
	broken := machine.Event{Kind: machine.EventRunFinished, Detail: machine.RunFinished{
		Output: delegation.Output{Metadata: delegation.Metadata{"x": json.RawMessage("{")}},
	}}
	begun := machine.Event{Kind: machine.EventRunStarted, Detail: machine.RunStarted{Strategy: "s"}}
	for name, test := range map[string]struct {
		start iter.Seq2[machine.Event, error]
		err   error
		told  string
		begun bool
	}{
		"start fails":      {err: secret, told: "1234"},
		"own error":        {err: &sse.Error{Message: "the run could not be started", Code: "internal", Err: secret}, told: "1234"},
		"no events at all": {told: "neither events nor an error"},
		"empty":            {start: events(), told: "the run has no events"},
		"fails at once":    {start: func(yield func(machine.Event, error) bool) { yield(machine.Event{}, secret) }, told: "1234"},
		"breaks off":       {start: events(begun), told: "1234", begun: true},
		"is no JSON":       {start: events(begun, broken), told: `the event "run_finished" cannot be written as JSON`, begun: true},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan error, 1)
			server, _ := serve(t, sse.Config{
				Start:   func(*http.Request) (iter.Seq2[machine.Event, error], error) { return test.start, test.err },
				OnError: func(_ *http.Request, err error) { told <- err },
			})
			resp := post(t, t.Context(), server, "")
			if test.begun {
				got, _ := read(t, resp)
				require.Len(t, got, 1)
			} else {
				refused(t, resp, http.StatusInternalServerError, "internal", "the run could not be started")
			}
			require.ErrorContains(t, waittest.Receive(t, told), test.told)
		})
	}
}

// A ResponseWriter that cannot be flushed would keep all events until the end.
func TestUnflushable(t *testing.T) {
	model := scripted.New(scripted.Text("done"))
	var told error
	handler, err := sse.New(sse.Config{Start: sse.Tasks(agent(t, model)), OnError: func(_ *http.Request, err error) { told = err }})
	require.NoError(t, err)
	recorder := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"goal": "go"}`))
	req.Header.Set("Content-Type", "application/json")
	handler.ServeHTTP(struct{ http.ResponseWriter }{recorder}, req)
	refused(t, recorder.Result(), http.StatusInternalServerError, "internal", "the run could not be started")
	require.ErrorIs(t, told, http.ErrNotSupported)
	require.ErrorContains(t, told, "needs a method Unwrap")
	require.Empty(t, model.Requests())
}
