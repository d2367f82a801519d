package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

// hostileConfig starts this program as a hostile server.
func hostileConfig(mode string, change ...func(*mcptools.Config)) mcptools.Config {
	cfg := mcptools.Config{
		Name: "hostile", Command: []string{os.Args[0]}, Env: []string{hostileEnv + "=" + mode},
		CallTimeout: 2 * time.Minute, CloseTimeout: 200 * time.Millisecond,
	}
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

func connectHostile(t *testing.T, mode string, change ...func(*mcptools.Config)) *mcptools.Toolset {
	t.Helper()
	set, err := mcptools.Connect(t.Context(), hostileConfig(mode, change...))
	require.NoError(t, err, mode)
	t.Cleanup(func() { _ = set.Close() })
	return set
}

func callFirst(t *testing.T, set *mcptools.Toolset) messages.ToolOutput {
	t.Helper()
	all := set.Tools()
	require.NotEmpty(t, all)
	call := messages.ToolCall{ID: "c", Name: all[0].Definition().Name, Arguments: `{}`}
	return toolrun.Runner{}.Run(t.Context(), toolrun.Job{Call: call, Tool: all[0]})
}

// heapPeak runs f, and returns by how much the heap was larger meanwhile than before, in bytes.
func heapPeak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // what nobody holds any more hardly counts
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&now)
				most.Store(max(most.Load(), int64(now.HeapAlloc)-int64(before.HeapAlloc)))
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return most.Load()
}

// sized returns a mode that does something so often: less in make test, as is meant in make prove.
func sized(mode string, less, meant int) string {
	return fmt.Sprint(mode, ":", prove.DepthOr(less, meant))
}

// A server that offers more than anybody reads costs neither much memory nor a long list.
func TestHostile_lists(t *testing.T) {
	offered := prove.DepthOr(3000, 10_000)
	set := connectHostile(t, fmt.Sprint("many:", offered))
	require.Len(t, set.Tools(), 500)
	require.True(t, set.Listing().More || len(set.Listing().Offers) == offered)

	set = connectHostile(t, "pages")
	require.Len(t, set.Tools(), 500)
	require.True(t, set.Listing().More)

	const largest = 2 << 20
	peak := heapPeak(func() {
		set = connectHostile(t, "heavy", func(cfg *mcptools.Config) { cfg.Limits.Message = largest })
	})
	require.NotEmpty(t, set.Tools())
	require.True(t, set.Listing().More)
	require.Less(t, peak, int64(16*largest), "bytes")

	set = connectHostile(t, sized("describes", 1<<20, 10<<20))
	require.Len(t, set.Tools(), 1)
	require.LessOrEqual(t, len(set.Tools()[0].Definition().Description), 4<<10+len("…"))
}

// A server that says again and again that its tools have changed is not asked for them all the
// time.
func TestHostile_changes(t *testing.T) {
	set := connectHostile(t, "changes")
	time.Sleep(1500 * time.Millisecond)
	lists := 0
	_, err := fmt.Sscanf(set.Tools()[0].Definition().Name, "tool_%d", &lists)
	require.NoError(t, err)
	require.GreaterOrEqual(t, lists, 2, "a change is looked at")
	require.LessOrEqual(t, lists, 4)
}

// Every name that is offered is one that providers take, and none twice; all others are named.
func TestHostile_names(t *testing.T) {
	set := connectHostile(t, "names")
	seen := map[string]bool{}
	for _, tool := range set.Tools() {
		name := tool.Definition().Name
		require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, name)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	_, err := tools.NewSet(set.Tools()...)
	require.NoError(t, err)
	require.Len(t, set.Listing().Offers, len(hostileNames))
	left := 0
	for _, o := range set.Listing().Offers {
		if o.LeftOut != "" {
			left++
		}
		for _, r := range o.Name + o.LeftOut {
			require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%q", o.Name)
		}
		require.Less(t, len(o.Name), 1000)
	}
	require.Equal(t, len(hostileNames), left+len(set.Tools()))
	require.True(t, seen["echo"])
}

// Tools with schemas that cannot be checked are left out, and the others work.
func TestHostile_schemas(t *testing.T) {
	set := connectHostile(t, "schemas")
	require.True(t, callFirst(t, set).OK())
	left := 0
	for _, o := range set.Listing().Offers {
		if o.LeftOut != "" {
			left++
		}
	}
	require.Equal(t, 10, left)         // one has a pattern that is left out
	for _, tool := range set.Tools() { // arguments are checked, or passed on: nothing panics or hangs
		call := messages.ToolCall{ID: "c", Name: tool.Definition().Name, Arguments: `{"a":{"a":1}}`}
		out := toolrun.Runner{}.Run(t.Context(), toolrun.Job{Call: call, Tool: tool})
		require.NotEqual(t, tools.ReasonPanic, out.Reason, out.Output)
	}
	_, err := mcptools.Connect(t.Context(), hostileConfig("deep")) // deeper than JSON is read
	_, ok := errors.AsType[*mcptools.ServerError](err)
	require.True(t, ok, "%v", err)
}

// A result beyond what a message may have ends the connection, and the next call makes a new one.
func TestHostile_longResults(t *testing.T) {
	set := connectHostile(t, sized("long", 3, 8))
	out := callFirst(t, set)
	require.True(t, out.OK(), "%.200s", out.Output)
	require.Less(t, len(out.Output), tools.DefaultMaxResult+100)

	most := prove.DepthOr((16<<20)/4, (16 << 20))
	set = connectHostile(t, sized("long", 25, 100), func(cfg *mcptools.Config) { cfg.Limits.Message = most })
	peak := heapPeak(func() {
		out = callFirst(t, set)
	})
	require.False(t, out.OK())
	require.Less(t, len(out.Output), 2000)
	require.Contains(t, out.Output, "hostile")
	require.Less(t, peak, int64(8*most), "bytes")
}

// Answers that nobody has asked for, and questions that nobody answers, disturb no call.
func TestHostile_answers(t *testing.T) {
	t.Parallel()
	modes := []string{"wrong-ids", "twice", sized("floods", 1000, 10_000), sized("asks", 200, 1000), sized("stderr", 10, 100)}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			set := connectHostile(t, mode)
			for range 3 {
				out := callFirst(t, set)
				require.True(t, out.OK(), out.Output)
				require.Equal(t, "ok", out.Output)
			}
			require.Less(t, len(set.Stderr()), 16<<10+100)
		})
	}
	out := callFirst(t, connectHostile(t, "odd"))
	require.NotEqual(t, tools.ReasonPanic, out.Reason)
	require.NotEmpty(t, out.Output)
}

// A server that says nothing, or half of it, costs the time-out and no more.
func TestHostile_silence(t *testing.T) {
	t.Parallel()
	run := func(mode string, f func(t *testing.T)) {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}
	brief := func(c *mcptools.Config) { c.CallTimeout = 300 * time.Millisecond }
	for _, mode := range []string{"half", "slow", "mute-tools-call"} {
		run(mode, func(t *testing.T) {
			out := callFirst(t, connectHostile(t, mode, brief))
			require.Equal(t, tools.ReasonTimeout, out.Reason, out.Output)
			require.Equal(t, messages.StatusUnknown, out.Status) // it may have had its effect
		})
	}
	for _, mode := range []string{"not-json", "no-id", "odd-id"} {
		run(mode, func(t *testing.T) {
			set := connectHostile(t, mode, brief)
			for range 2 {
				out := callFirst(t, set)
				require.False(t, out.OK(), out.Output)
			}
		})
	}
	late := func(c *mcptools.Config) { c.ConnectTimeout = time.Second }
	for _, mode := range []string{"mute", "mute-initialize", "mute-tools-list"} {
		run(mode, func(t *testing.T) {
			_, err := mcptools.Connect(t.Context(), hostileConfig(mode, late))
			problem, ok := errors.AsType[*mcptools.ServerError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "hostile", problem.Server)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

// A server that dies after any byte of what it says gives an error that names it, or a failed
// result, and the next call finds a new one.
func TestHostile_deathAtEachByte(t *testing.T) {
	const whole = 460 // bytes of a list and a call
	step := prove.DepthOr(23, 1)
	for n := 0; n < whole; n += step {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			set, err := mcptools.Connect(t.Context(), hostileConfig(fmt.Sprintf("dies:%d", n)))
			if err != nil {
				problem, ok := errors.AsType[*mcptools.ServerError](err)
				require.True(t, ok, "%v", err)
				require.Equal(t, "hostile", problem.Server)
				return
			}
			defer set.Close()
			out := callFirst(t, set)
			if !out.OK() {
				require.Contains(t, out.Output, "hostile")
				require.NotEqual(t, tools.ReasonTimeout, out.Reason)
			}
		})
	}
}

// A server over HTTP that misbehaves gives an error that names it, and gets no key that is for
// another host.
func TestHostile_http(t *testing.T) {
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(fmt.Sprint(r.Header), "canary") {
			leaked.Store(true)
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer other.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"html": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") },
		"error": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "canary-key was sent", http.StatusInternalServerError)
		},
		"unauthorized": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "wrong key "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			piece := strings.Repeat(" ", 1<<20)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		},
		"endless stream": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			piece := "data: " + strings.Repeat("x", 1<<20)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			var err error
			peak := heapPeak(func() {
				_, err = mcptools.Connect(t.Context(), mcptools.Config{
					Name: "hostile", URL: server.URL, Headers: map[string]string{"Authorization": "Bearer canary-key"}, ConnectTimeout: 3 * time.Second,
				})
			})
			problem, ok := errors.AsType[*mcptools.ServerError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "hostile", problem.Server)
			require.NotContains(t, err.Error(), "canary")
			require.Less(t, len(err.Error()), 2000)
			require.Less(t, peak, int64(16*(16<<20)), "bytes")
		})
	}
	require.False(t, leaked.Load(), "a key was sent to another host")
}

// A server over HTTP that says nothing costs the time-out, and the SDK's when it is told that
// nobody waits any more.
func TestHostile_httpSilence(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then a server notices that its client has gone
		<-r.Context().Done()
	}))
	defer server.Close()
	_, err := mcptools.Connect(t.Context(), mcptools.Config{
		Name: "hostile", URL: server.URL, Headers: map[string]string{"Authorization": "Bearer canary-key"}, ConnectTimeout: time.Second,
	})
	problem, ok := errors.AsType[*mcptools.ServerError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "hostile", problem.Server)
	require.NotContains(t, err.Error(), "canary")
}
