package explore

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// lawPrefix is the law about the beginnings of requests, which providers bill less if they repeat.
const lawPrefix = "within a frame a request extends the last one, or declares that it does not"

// prefixes hold the last request of each live frame.
type prefixes struct {
	frames []asking // those behind the length lend their memory to new ones
	broken string   // how a request began otherwise without a word; "" if none did
	shown  int      // messages of the last request of the root
}

// asking is the last request of a frame, with copies of its lists as they were then.
type asking struct {
	frame   string
	request llmclient.Request
}

// reset forgets everything but the memory.
func (p *prefixes) reset() { p.frames, p.broken, p.shown = p.frames[:0], "", 0 }

// note compares a request with the last one of its frame, and takes its place.
func (p *prefixes) note(e *machine.Effect) {
	ask, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return
	}
	at := slices.IndexFunc(p.frames, func(a asking) bool { return a.frame == e.Frame })
	if at >= 0 {
		if why := ask.Request.Departure(&p.frames[at].request); why != "" && ask.Anew == nil && p.broken == "" {
			p.broken = fmt.Sprintf("request #%s of frame %s does not begin with the last one, and its Anew is nil: %s", e.ID, e.Frame, why)
		}
	} else {
		at = len(p.frames)
		p.frames = slices.Grow(p.frames, 1)[:at+1]
		p.frames[at].frame = e.Frame
	}
	if e.Depth == 1 {
		p.shown = len(ask.Request.Messages)
	}
	last := &p.frames[at].request
	messages, tools := last.Messages[:0], last.Tools[:0]
	*last = ask.Request
	last.Messages, last.Tools = append(messages, ask.Request.Messages...), append(tools, ask.Request.Tools...)
}

// left forgets a frame that has ended, and keeps its memory for others.
func (p *prefixes) left(frame string) {
	at := slices.IndexFunc(p.frames, func(a asking) bool { return a.frame == frame })
	if at < 0 {
		return
	}
	end := len(p.frames) - 1
	p.frames[at], p.frames[end] = p.frames[end], p.frames[at]
	p.frames = p.frames[:end]
}

// departs returns the problem of a request that does not extend the last one and does not say why.
func (w *walk) departs([]machine.FrameView) string { return w.prefix.broken }
