package explore

import (
	"slices"
	"strings"
	"unicode"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// lacking is an agent that a strategy has named by itself, and that the Options do not answer yet.
type lacking struct {
	name   string
	called bool // and not delegated to
}

// mostAssumed is how many agents may be found: a strategy may make up names without end.
const mostAssumed = 32

// addTo makes the Options answer the agent.
func (l lacking) addTo(o *Options) {
	if l.called {
		o.Tools = append(slices.Clip(o.Tools), tools.Definition{Name: l.name, Idempotent: true})
	} else {
		o.Children = append(slices.Clip(o.Children), l.name)
	}
}

// said keeps what a model has said in this walk.
func (w *walk) said(r *llmclient.Response) {
	w.words.WriteString("\n" + r.Message.Text())
	for _, c := range r.Message.Calls() {
		w.words.WriteString("\n" + c.Name + "\n" + c.Arguments)
	}
}

// lookFor notes the first agent of a step that the Options do not answer. What a model has named
// may be a mistake of the model.
func (w *walk) lookFor(step nextstep.NextStep) {
	switch s := step.(type) {
	case nextstep.Delegate:
		if w.cfg.Strategies[s.Strategy] == nil && !slices.Contains(w.cfg.Remote, s.Strategy) {
			w.lack(lacking{name: s.Strategy})
		}
	case nextstep.ExecuteTools:
		for i := range s.Calls {
			name := s.Calls[i].Name
			if !w.own[name] && !slices.ContainsFunc(w.cfg.Tools, func(d tools.Definition) bool { return d.Name == name }) {
				w.lack(lacking{name, true})
			}
		}
	}
}

func (w *walk) lack(l lacking) {
	declared := slices.Contains(w.cfg.Remote, l.name)
	if w.lacks.name == "" && l.name != "" && (declared || !hasWord(w.words.String(), l.name)) {
		w.lacks = l
	}
}

// hasWord reports whether a text has a name as a word.
func hasWord(text, name string) bool {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' }
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(name)
		before, after := []rune(text[:at]), []rune(text[from:])
		if (len(before) == 0 || !part(before[len(before)-1])) && (len(after) == 0 || !part(after[0])) {
			return true
		}
	}
}
