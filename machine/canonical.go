package machine

import (
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// This file makes each record what a journal would give back, before it is applied, so that a
// replay decides alike: valid UTF-8, times in UTC, no raw bodies, no causes, nil where there is
// nothing. What is so already is not copied. What has no JSON form stays as it is: such an answer
// is refused, and a journal cannot hold anything else of the kind. The values in records are those
// of sound_values.go.

// timePrecision is how exact the expiry of a wait is.
const timePrecision = time.Millisecond

func (r *Started) sound() {
	r.soundTask()
	r.Tools = soundTools(r.Tools)
}

// soundTask is sound for all but the tools, which are the same in most runs.
func (r *Started) soundTask() {
	var s sounder
	s.time(&r.At)
	s.text(&r.Run)
	s.text(&r.Strategy)
	r.Input = soundInput(r.Input)
	s.text(&r.StopNote)
	s.text(&r.Model)
	soundMap(&s, &r.Metadata, soundText)
	soundMap(&s, &r.Labels, soundText)
	s.text(&r.Namespace)
	soundPointer(&s, &r.Origin, soundOrigin)
	soundMap(&s, &r.Fingerprints, soundText)
	s.text(&r.Library)
}

func soundOrigin(o Origin) (Origin, bool) {
	var s sounder
	s.text(&o.Run)
	return o, bool(s)
}

func soundTools(defs []tools.Definition) []tools.Definition {
	var s sounder
	if len(defs) > 0 { // no tools are something else than those of the Config
		soundList(&s, &defs, soundDefinition)
	}
	return defs
}

func soundDefinition(d tools.Definition) (tools.Definition, bool) {
	var s sounder
	s.text(&d.Name)
	s.text(&d.Description)
	s.raw(&d.Parameters)
	return d, bool(s)
}

func soundInput(in delegation.Input) delegation.Input {
	var s sounder
	s.text(&in.Goal)
	soundList(&s, &in.Messages, soundMessage)
	s.raw(&in.Data)
	return in
}

func (r *Resumed) sound() {
	var s sounder
	s.time(&r.At)
	s.text((*string)(&r.Unknown))
}

func (r *Intended) sound() {
	var s sounder
	s.time(&r.At)
	s.text(&r.Frame)
	s.text(&r.Tool)
	s.text(&r.Digest)
}

func (r *Answered) sound() {
	var s sounder
	s.time(&r.At)
	s.text(&r.Frame)
	s.text((*string)(&r.Kind))
	s.text(&r.Tool)
	s.text(&r.Digest)
	r.Answer = soundAnswer(r.Answer)
	soundPointer(&s, &r.Ref, soundReference)
}

func soundReference(r Reference) (Reference, bool) {
	var s sounder
	s.text(&r.Hash)
	s.text(&r.Type)
	return r, bool(s)
}

// soundAnswer returns an answer as its JSON form gives it back: a itself if it is so.
func soundAnswer(a nextstep.Answer) nextstep.Answer {
	switch a.(type) { // each variant has a function, as in Apply
	case nextstep.APIResponse:
		return soundReplied(a)
	case nextstep.ToolResult:
		return soundResult(a)
	case nextstep.DelegationResult:
		return soundDelegation(a)
	case nextstep.Failure:
		return soundFailure(a)
	default: // nil, and what is no answer as a value
		return a
	}
}

func soundReplied(a nextstep.Answer) nextstep.Answer {
	var s sounder
	v := a.(nextstep.APIResponse)
	if soundPointer(&s, &v.Response, soundResponse); s {
		return v
	}
	return a
}

func soundResult(a nextstep.Answer) nextstep.Answer {
	var s sounder
	v := a.(nextstep.ToolResult)
	soundField(&s, &v.Output, soundOutput)
	if soundPointer(&s, &v.Call, soundCall); s {
		return v
	}
	return a
}

func soundDelegation(a nextstep.Answer) nextstep.Answer {
	var s sounder
	v := a.(nextstep.DelegationResult)
	if soundField(&s, &v.Output, soundDelegated); s {
		return v
	}
	return a
}

func soundFailure(a nextstep.Answer) nextstep.Answer {
	var s sounder
	v := a.(nextstep.Failure)
	s.text((*string)(&v.Source))
	s.text((*string)(&v.Code))
	s.text(&v.Message)
	soundField(&s, &v.Partial, soundAssistant)
	if soundList(&s, &v.Attempts, soundAttempt); s {
		return v
	}
	return a
}

func soundResponse(r llmclient.Response) (llmclient.Response, bool) {
	var s sounder
	soundField(&s, &r.Message, soundAssistant)
	s.text((*string)(&r.Finish))
	s.text(&r.Model)
	s.text(&r.ID)
	if r.Raw != nil {
		r.Raw, s = nil, true
	}
	soundList(&s, &r.Attempts, soundAttempt)
	return r, bool(s)
}

func soundAttempt(a llmclient.Attempt) (llmclient.Attempt, bool) {
	var s sounder
	s.text(&a.Model)
	s.text((*string)(&a.Code))
	s.text(&a.Error)
	return a, bool(s)
}

func soundDelegated(o delegation.Output) (delegation.Output, bool) {
	var s sounder
	soundList(&s, &o.Messages, soundMessage)
	soundPointer(&s, &o.Result, soundText)
	s.raw(&o.Data)
	soundMap(&s, &o.Metadata, soundRaw)
	s.err(&o.Err)
	return o, bool(s)
}

func (r *Asked) sound() {
	var s sounder
	s.time(&r.At)
	soundField(&s, &r.Wait, soundWait)
}

func (r *Suspended) sound() {
	var s sounder
	s.time(&r.At)
	soundList(&s, &r.Waits, soundWait)
	s.raw(&r.State)
}

func soundWait(w Wait) (Wait, bool) {
	var s sounder
	s.text(&w.ID)
	s.text(&w.Run)
	s.text(&w.Frame)
	s.text(&w.Kind)
	s.text(&w.CallID)
	s.text(&w.Tool)
	s.text(&w.Arguments)
	s.text(&w.Text)
	soundList(&s, &w.Options, soundText)
	s.time(&w.Expires)
	return w, bool(s)
}

func (r *Replied) sound() {
	var s sounder
	s.time(&r.At)
	r.Reply = soundReply(r.Reply)
	s.err(&r.Err)
}

func soundReply(r Reply) Reply {
	var s sounder
	s.text(&r.WaitID)
	s.text(&r.Text)
	s.text(&r.Reason)
	return r
}

func (r *Noted) sound() {
	var s sounder
	s.time(&r.At)
	s.text(&r.Text)
}

func (r *Stopped) sound() {
	var s sounder
	s.time(&r.At)
	s.text(&r.Reason)
	s.text(&r.Frame)
}
