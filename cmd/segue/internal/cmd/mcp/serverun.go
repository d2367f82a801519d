package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// servedRun is a run that an MCP client has asked for.
type servedRun struct {
	agent string
	end   context.CancelCauseFunc
	asks  *elicitor
	done  chan struct{}
	left  *time.Timer // ends the run if the client does not come back

	mu       sync.Mutex
	progress func(text string) // to the request in progress; nil: there is none
	doing    string            // what the client was told last, or what the run does since
	told     time.Time         // when the client was told something
	result   *mcp.CallToolResult
}

// servedAnswer is the structured result of a call.
type servedAnswer struct {
	Run    string          `json:"run"`
	Status machine.Status  `json:"status"`
	Answer string          `json:"answer"`
	Data   json.RawMessage `json:"data,omitempty"`
	Usage  messages.Usage  `json:"usage"`
	Error  string          `json:"error,omitempty"`
}

// maxAbsence is how long a run waits for a client that was asked something.
const maxAbsence = time.Hour

// silence is how long a client hears nothing of a run that is at work, before it is told so.
// Clients give up after a minute.
const silence = 4 * time.Second

// call makes a run of an agent, or goes on with one whose questions the client has answered.
func (s *agentServer) call(ctx context.Context, agent string, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	r, err := s.runOf(agent, req)
	if err != nil {
		return failedCall(err.Error(), nil), nil
	}
	defer r.report(nil)
	began, beat := time.Now(), time.NewTicker(silence/4)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			r.alive(time.Since(began))
		case <-r.done:
			return r.result, nil
		case <-ctx.Done():
			r.end(&cli.SignalError{Kept: s.runs != nil})
			<-r.done
			return nil, context.Cause(ctx)
		case <-r.asks.waiting():
			if asked := r.asks.requests(); len(asked) > 0 {
				return s.park(r, asked), nil
			}
		}
	}
}

// runOf begins a run, or finds the one that a client goes on with. The client is told of its
// progress from the first event on.
func (s *agentServer) runOf(agent string, req *mcp.CallToolRequest) (*servedRun, error) {
	if req.Params.RequestState == "" {
		return s.begin(agent, req)
	}
	s.mu.Lock()
	r := s.parked[req.Params.RequestState]
	if r != nil && r.agent == agent {
		delete(s.parked, req.Params.RequestState)
	}
	s.mu.Unlock()
	if r == nil || r.agent != agent {
		return nil, errors.New("there is no run that waits for these answers: it has ended, or was begun by another process; segue runs lists the runs")
	}
	r.left.Stop()
	r.report(req)
	r.asks.answer(req.Params.InputResponses)
	return r, nil
}

// park returns what the client is to ask, and keeps the run until it comes back. The state that
// names the run is a secret of this process, so that no client answers for the run of another.
func (s *agentServer) park(r *servedRun, asked mcp.InputRequestMap) *mcp.CallToolResult {
	state := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked[state] = r
	r.left = time.AfterFunc(maxAbsence, func() { r.end(errors.New("the client did not come back with an answer")) })
	return &mcp.CallToolResult{InputRequests: asked, RequestState: state}
}

// begin begins a run.
func (s *agentServer) begin(agent string, req *mcp.CallToolRequest) (*servedRun, error) {
	task, data, err := argumentsOf(req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(s.life)
	r := &servedRun{agent: agent, end: end, asks: newElicitor(req.Session), done: make(chan struct{}), doing: "the run begins"}
	f := *s.flags
	f.Agent, f.NoAsk = agent, !r.asks.able
	j, err := run.JobOf(ctx, s.CLI, &f, s.cfg, s.screen)
	if err != nil {
		end(err)
		return nil, errors.New(plainwords.Line(err))
	}
	j.Runs = s.runs
	if err := run.NoteBegun(s.CLI, &j, &f, s.cfg, s.place); err != nil {
		end(err)
		return nil, err
	}
	j.Task.Input = delegation.Input{Goal: task, Data: data}
	if len(data) > 0 {
		j.Task.Input.Goal += "\n\nData:\n" + string(data)
	}
	r.asks.job = &j
	j.Reply = r.asks.reply
	o, err := j.Orchestrator(nil)
	if err != nil {
		end(err)
		return nil, errors.New(plainwords.Line(err))
	}
	r.report(req)
	s.working.Go(func() {
		defer end(nil)
		defer close(r.done)
		defer j.CloseFiles()
		s.follow(ctx, r, j, o)
	})
	return r, nil
}

// argumentsOf returns the task and the data of a call, as the schema of the tools has them. The
// error says in a sentence what is wrong.
func argumentsOf(arguments json.RawMessage) (task string, data json.RawMessage, err error) {
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil {
		return "", nil, errors.New("the arguments must be an object with a task")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name != "task" && name != "data" {
			return "", nil, fmt.Errorf("there is no argument %.64q: the arguments are task and data", name)
		}
	}
	if json.Unmarshal(given["task"], &task) != nil || strings.TrimSpace(task) == "" {
		return "", nil, errors.New("the argument task must be a text that says what the agent is to do")
	}
	return task, given["data"], nil
}

// follow shows a run to the client and the log until it ends, and notes the result.
func (s *agentServer) follow(ctx context.Context, r *servedRun, j run.Job, o *orchestrator.Orchestrator) {
	r.result = failedCall("the run ended without saying how", nil)
	heard := run.Printer{Form: cli.FormText}
	begun := false
	for e, err := range o.Stream(ctx, j.Task) {
		if e.Kind == "" {
			r.result = failedCall("the run could not be started: "+plainwords.Line(err), nil)
			continue
		}
		heard.Listen(e)
		if !begun {
			begun = true
			s.screen.ShowProgress("run " + e.Run + " of agent " + plaintext.Visible(r.agent) + " begins")
		}
		if s.flags.Out.Verbose {
			s.screen.ShowEvent(e)
		}
		r.tell(e)
		if end, ok := e.Detail.(machine.RunFinished); ok {
			r.result = s.resultOf(e.Run, &end, err, heard.Answer(end), j)
			s.screen.ShowProgress("run " + e.Run + " ended: " + string(end.Status))
		}
	}
}

// resultOf returns the result of a call whose run has ended.
func (s *agentServer) resultOf(id string, end *machine.RunFinished, err error, answer string, j run.Job) *mcp.CallToolResult {
	r := &servedAnswer{Run: id, Status: end.Status, Answer: answer, Data: end.Output.Data, Usage: end.Output.Usage}
	if end.Status == machine.StatusDone {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}, StructuredContent: r}
	}
	on := run.WaysOf(j.Runs, id)
	on.Anyway = j.AsksAnyway(nil)
	why := "the id ended as " + string(end.Status)
	if failed := run.Outcome(*end, err, j.Files, on); failed != nil {
		why = plainwords.Line(failed)
	}
	text := fmt.Sprintf("run %s did not end well: %s", id, why)
	if on.Show != "" {
		text += "; see what it did with: " + on.Show
	}
	if answer != "" {
		text += "\n\nWhat there is of an answer:\n" + answer
	}
	r.Error = why
	return failedCall(text, r)
}

// failedCall is the result of a call that failed. r may be nil.
func failedCall(text string, r *servedAnswer) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	if r != nil {
		res.StructuredContent = r
	}
	return res
}

// report has the progress go to a request, if that asks for it; nil ends that.
func (r *servedRun) report(req *mcp.CallToolRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = nil
	if req == nil || req.Params.GetProgressToken() == nil {
		return
	}
	count := 0.0
	r.progress = func(text string) {
		count++
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		// a client that does not take its progress gets its result all the same
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: count, Message: text})
	}
}

// tell tells the client what an event is about.
func (r *servedRun) tell(e machine.Event) {
	text := ""
	switch d := e.Detail.(type) {
	case machine.RunStarted:
		text = "run " + e.Run + " begins"
	case machine.FrameEntered:
		text = "agent " + d.Strategy + " begins"
	case machine.StepTaken:
		if d.Model != "" {
			text = "the model " + d.Model + " has answered"
		}
	case machine.ToolStarted:
		text = "calls " + d.Call.Name
	case machine.ToolProgress:
		text = d.ToolName + ": " + e.Text
	case machine.ToolFinished:
		text = d.Output.ToolName + " has ended"
	case machine.WaitStarted:
		text = "waits for somebody"
	case machine.RetryWaiting:
		text = "asks the model " + d.Model + " again in " + d.Wait.Round(time.Second).String()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case machine.EventTextDelta, machine.EventThoughtDelta, machine.EventCallDelta:
		r.doing = "the model writes"
	default:
	}
	if text != "" {
		r.say(plaintext.Head(plaintext.Visible(plaintext.OneLine(text)), 300))
		r.doing = text
	}
}

// alive tells the client that a run is at work, if the client has heard nothing for a while.
func (r *servedRun) alive(since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.told) >= silence {
		r.say(fmt.Sprintf("%s (%s so far)", plaintext.Head(plaintext.Visible(plaintext.OneLine(r.doing)), 300), since.Round(time.Second)))
	}
}

// say tells the client of the request in progress, if that asks for it.
func (r *servedRun) say(text string) {
	if r.told = time.Now(); r.progress != nil {
		r.progress(text)
	}
}
