package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// textTools is what came of calls as text.
type textTools struct {
	failed  []string // the formats after whose instructions no call could be read
	asked   string   // the format after whose instructions a call was read; "" if there is none
	read    string   // the policy that read it
	answers []answer
}

// policy returns what to set; "" if nothing works.
func (t *textTools) policy() string {
	if t.asked == "" || t.asked == t.read {
		return t.read
	}
	return t.asked + "," + t.read
}

// checkTextTools has the model write a call as text: in the format that is set, or in the default
// one. If there are no native calls, it looks for a format that works.
func (x *examiner) checkTextTools(ctx context.Context, c *check) {
	set := splitNames(x.cfg.Policy)
	t := x.tryFormats(ctx)
	var refused *llmclient.Error
	for _, a := range t.answers {
		if c.passing(a) {
			return
		}
		c.unusual(a)
		if a.err != nil {
			refused = a.err
		}
	}
	c.Measured = "no policy reads a call, asked for " + strings.Join(t.failed, ", ")
	if t.read != "" {
		c.Measured = fmt.Sprintf("asked for %s, policy %s reads the call", t.asked, t.read)
	} else if refused != nil {
		c.Measured = "refused: " + refused.Message
	}
	switch {
	case t.read == "" && x.native && len(set) == 0:
		c.find("policy_unread", c.Measured, "nothing while native tool calls work")
	case t.read == "" && x.native:
		c.find("policy_unread", c.Measured, "no policy: native tool calls work")
	case t.read == "":
		c.find("no_policy", "neither native tool calls nor any text format works")
	case len(set) > 0 && (t.asked != set[0] || !slices.Contains(set, t.read)):
		c.find("policy_unread", "policy "+x.cfg.Policy+" does not read what the model writes", "policy: "+t.policy())
	}
}

// tryFormats asks for calls as text, once.
func (x *examiner) tryFormats(ctx context.Context) *textTools {
	if x.text != nil {
		return x.text
	}
	x.text = &textTools{}
	for _, name := range x.formats() {
		if x.timeouts > 1 || ctx.Err() != nil {
			break
		}
		a := x.askInText(ctx, name)
		x.text.answers = append(x.text.answers, a)
		if read := readBy(a.text()); read != "" {
			x.text.asked, x.text.read = name, read
			break
		}
		x.text.failed = append(x.text.failed, name)
	}
	return x.text
}

// formats returns the formats to try, in order: the one that is set or seen, or the default one,
// and without native calls the others.
func (x *examiner) formats() []string {
	names := markdownpolicy.Names()
	first := names[0]
	if set := splitNames(x.cfg.Policy); len(set) > 0 {
		first = set[0]
	} else if x.format != "" {
		first = x.format
	}
	if x.native {
		return []string{first}
	}
	return append([]string{first}, slices.DeleteFunc(names, func(n string) bool { return n == first })...)
}

// splitNames returns the names in a list with commas; none for "".
func splitNames(policies string) (names []string) {
	for name := range strings.SplitSeq(policies, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// askInText asks for a call as text, by the instructions of a format.
func (x *examiner) askInText(ctx context.Context, format string) answer {
	p, err := markdownpolicy.New(format, markdownpolicy.Options{})
	if err != nil {
		return answer{err: &llmclient.Error{Message: err.Error()}, x: &exchange{}}
	}
	req := llmclient.Request{Messages: messages.History{
		messages.System{Text: p.FormatInstructions([]tools.Definition{weather})},
		messages.UserText("How warm is it in Paris? Call the tool."),
	}}
	if s, ok := p.(markdownpolicy.Schemer); ok {
		req.Schema = &llmclient.Schema{Name: "reply", Schema: s.ReplySchema([]tools.Definition{weather}, false, nil)}
	}
	return x.ask(ctx, req, false)
}

// readBy returns the name of the policy that reads a call of weather in a text; "" if none does.
// If several do, it is the one whose call begins first, because some also read parts of others.
func readBy(text string) string {
	best, from := "", len(text)+1
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{Tools: []tools.Definition{weather}})
		if err != nil {
			continue
		}
		doc, err := (markdownpolicy.Think{Policy: p}).ParseResponse(text)
		if err != nil {
			continue
		}
		for _, part := range doc.Parts {
			if call, ok := part.Content.(messages.ToolCall); ok && call.Name == weather.Name && cityOf(call) != "" && part.Start < from {
				best, from = name, part.Start
			}
		}
	}
	return best
}
