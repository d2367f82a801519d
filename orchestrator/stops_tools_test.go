package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// stopsArgs are the arguments of the tools.
type stopsArgs struct {
	N   int    `json:"n"`
	Act string `json:"act"`
	Ms  int    `json:"ms"`
}

var stopsDigits = regexp.MustCompile(`\d+`)

// stopsNumber is the number of a call, which stands first in its arguments.
func stopsNumber(arguments string) int {
	n, _ := strconv.Atoi(stopsDigits.FindString(arguments))
	return n
}

// stopsTools are the tools of all cases. They are made once, since that takes longer than a case;
// world is that of the case in progress.
type stopsTools struct {
	world *stopsWorld
	list  []tools.Tool
}

func newStopsTools() *stopsTools {
	s := new(stopsTools)
	raw := func(ctx context.Context, arguments string) (string, error) {
		return s.world.call(ctx, stopsParse(arguments))
	}
	s.list = []tools.Tool{
		tools.NewRaw(tools.Definition{Name: "raw"}, raw),
		tools.NewRaw(tools.Definition{Name: "look", ReadOnly: true}, raw),
		tools.NewRaw(tools.Definition{Name: "again", Idempotent: true}, raw),
		tools.NewRaw(tools.Definition{Name: "alone", Sequential: true}, raw),
		tools.NewRaw(tools.Definition{Name: "outside", ReadOnly: true, Untrusted: true}, raw),
		stopsBrief{tools.New(tools.Definition{Name: "typed"}, func(ctx context.Context, in stopsArgs) (string, error) { return s.world.call(ctx, in) })},
		stopsInline{stopsBrief{tools.NewInline(tools.Definition{Name: "inline"}, func(in stopsArgs) (string, error) { return s.world.call(nil, in) })}}, //nolint:staticcheck // it has none
		tools.NewInlineRaw(tools.Definition{Name: "inlineraw", ReadOnly: true}, func(arguments string) (string, error) {
			return s.world.call(nil, stopsParse(arguments)) //nolint:staticcheck // it has none
		}),
		stopsAskUser{stopsBrief{tools.AskUser()}, s},
	}
	return s
}

// stopsBrief leaves the schema out of the definition of a tool: each Orchestrator would compile it
// anew.
type stopsBrief struct{ tools.Tool }

func (s stopsBrief) Definition() tools.Definition {
	def := s.Tool.Definition()
	def.Parameters = nil
	return def
}

type stopsInline struct{ stopsBrief }

func (stopsInline) Inline() bool { return true }

// stopsAskUser is tools.AskUser, with a note of what it did.
type stopsAskUser struct {
	stopsBrief
	tools *stopsTools
}

func (s stopsAskUser) Call(ctx context.Context, arguments string) (string, error) {
	return s.tools.world.noted(stopsNumber(arguments), func() (string, error) { return s.Tool.Call(ctx, arguments) })
}

// stopsParse reads the arguments of a raw tool, which may be broken.
func stopsParse(arguments string) stopsArgs {
	in := stopsArgs{N: stopsNumber(arguments), Act: "ok"}
	if _, rest, ok := strings.Cut(arguments, `"act":"`); ok {
		in.Act, rest, _ = strings.Cut(rest, `"`)
		in.Ms = stopsNumber(rest)
	}
	return in
}

// call is what the tools do. The context is nil for those that have none.
func (w *stopsWorld) call(ctx context.Context, in stopsArgs) (string, error) {
	return w.noted(in.N, func() (string, error) {
		w.at(stopsAtTool)
		if ctx == nil {
			return w.actInline(in)
		}
		return w.act(ctx, in)
	})
}

// noted writes down how f went for call n.
func (w *stopsWorld) noted(n int, f func() (string, error)) (text string, err error) {
	w.mayMake(n)
	work := &stopsWork{}
	w.mu.Lock()
	work.segment = w.segment
	w.work[n] = append(w.work[n], work)
	w.busy++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.busy--
		work.over = true
	}()
	text, err = f() // which may panic, or not come back
	w.mu.Lock()
	defer w.mu.Unlock()
	work.ended, work.suspended, work.text, work.err = true, errors.Is(err, tools.ErrSuspended), text, err
	return text, err
}

// rest waits for tools that were abandoned and go on behind the run.
func (w *stopsWorld) rest() {
	for busy := 1; busy > 0; {
		time.Sleep(50 * time.Millisecond)
		w.mu.Lock()
		busy = w.busy
		w.mu.Unlock()
	}
}

func (w *stopsWorld) actInline(in stopsArgs) (string, error) {
	switch in.Act {
	case "fail":
		return "", fmt.Errorf("failure %d", in.N)
	case "panic":
		panic("a tool")
	default:
		return fmt.Sprintf("result %d", in.N), nil
	}
}

func (w *stopsWorld) act(ctx context.Context, in stopsArgs) (string, error) {
	pause := time.Duration(in.Ms) * time.Millisecond
	switch in.Act {
	case "slow":
		if err := stopsSleep(ctx, pause); err != nil {
			return "", err
		}
	case "stubborn":
		time.Sleep(pause)
	case "block":
		<-ctx.Done()
		return "", context.Cause(ctx)
	case "exit":
		runtime.Goexit()
	case "progress":
		tools.Progress(ctx, "so far")
		tools.Progress(ctx, "so good")
		tools.Attach(ctx, messages.Attachment{Name: "a", URL: "data:,attached"})
	case "ask", "asktwice", "asklate":
		if in.Act == "asklate" {
			time.Sleep(pause)
		}
		answer, err := tools.Ask(ctx, tools.Question{Text: "first"})
		if err == nil && in.Act == "asktwice" {
			answer, err = tools.Ask(ctx, tools.Question{Text: "second", Options: []string{"yes", "no"}})
		}
		if err != nil {
			return "", fmt.Errorf("asking: %w", err)
		}
		return fmt.Sprintf("answer %d: %s", in.N, answer), nil
	}
	return w.actInline(in)
}
