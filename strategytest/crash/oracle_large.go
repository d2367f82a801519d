package crash

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// keeping is what the oracle keeps of large results, as the documentation of
// orchestrator.LargeResults says: in a map.
type keeping struct {
	on            bool
	show, max     int
	most          int64             // bytes that may be kept; negative: no maximum
	texts         map[string]string // by id
	untrusted     map[string]bool
	readUntrusted bool // the last call of the reader has read text from outside
}

// keepingOf returns the bounds of a configuration with their defaults.
func keepingOf(cfg *orchestrator.Config) *keeping {
	l := cfg.LargeResults
	k := &keeping{on: l.Keep != 0, most: l.Keep, show: l.Show, max: cmp.Or(l.Max, 16<<20), texts: map[string]string{}, untrusted: map[string]bool{}}
	if k.show == 0 {
		if k.show = 16 << 10; cfg.MaxToolResult > 0 {
			k.show = max(256, min(k.show, cfg.MaxToolResult))
		}
	}
	return k
}

// cutAt returns at how many bytes a result is cut that is not kept, and at how many any result is.
func (o *oracle) cutAt(def *tools.Definition) (usual, most int) {
	usual = cmp.Or(def.MaxResult, o.cfg.MaxToolResult, tools.DefaultMaxResult)
	switch {
	case !o.large.on || def.Name == orchestrator.ReadResultTool:
		return usual, 0
	case usual < 0 || o.large.max < 0:
		return usual, -1
	default:
		return usual, max(usual, o.large.max)
	}
}

// keep keeps the result of a call if it is large, and returns what the model is shown.
func (o *oracle) keep(a *actor, def *tools.Definition, out messages.ToolOutput) messages.ToolOutput {
	if def.Name == orchestrator.ReadResultTool {
		out.Untrusted = out.Untrusted || o.large.readUntrusted
		return out
	}
	text, show := out.Output, cmp.Or(def.MaxResult, o.large.show)
	if !o.large.on || show < 0 || len(text) <= show {
		return out
	}
	if o.large.max >= 0 && len(text) > o.large.max {
		panic(unsupported(fmt.Sprintf("the tool %s returns more than LargeResults.Max, which are %d bytes", def.Name, o.large.max)))
	}
	problem := "no more can be read of it"
	if reader, _ := o.tool(a, messages.ToolCall{Name: orchestrator.ReadResultTool}); reader != nil {
		problem = o.large.put(text)
	}
	if problem != "" {
		if usual, _ := o.cutAt(def); usual >= 0 && len(text) > usual {
			first := textcut.Before(text, usual)
			out.Output = fmt.Sprintf("%s\n[cut: %d of %d bytes are left out; %s]", text[:first], len(text)-first, len(text), problem)
		}
		return out
	}
	id := nameOf(text)
	o.large.untrusted[id] = o.large.untrusted[id] || out.Untrusted
	out.Kept = messages.Kept{ID: id, Size: int64(len(text))}
	head, tail := textcut.Before(text, show*3/4), textcut.After(text, len(text)-show/4)
	out.Output = fmt.Sprintf("%s\n[bytes %d to %d of %d are left out here]\n%s\n[the result is kept as %s: read any part of it with the tool %s, "+
		"such as {\"id\":%q,\"offset\":%d}, or look for a text with {\"id\":%q,\"find\":\"…\"}]",
		text[:head], head, tail, len(text), text[tail:], id, orchestrator.ReadResultTool, id, head, id)
	return out
}

// put keeps a text, and returns why it does not; "" if it does. The same text is kept once.
func (k *keeping) put(text string) (problem string) {
	id, size := nameOf(text), int64(len(text))
	if _, there := k.texts[id]; there {
		return ""
	}
	var sum int64
	for _, kept := range k.texts {
		sum += int64(len(kept))
	}
	if k.most >= 0 && sum+size > k.most {
		return fmt.Sprintf("it is not kept, since the results of a run that are kept may have %d bytes together, and %d are left", k.most, k.most-sum)
	}
	k.texts[id] = text
	return ""
}

// nameOf returns the id of a kept text: the first half of the digits of its SHA-256, as letters.
func nameOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return strings.Map(func(digit rune) rune {
		return rune('a' + strings.IndexRune("0123456789abcdef", digit))
	}, fmt.Sprintf("%x", hash[:12]))
}

// partArguments are the arguments of the tool that reads.
type partArguments struct {
	ID     string `json:"id"`
	Offset int    `json:"offset,omitempty"`
	Length int    `json:"length,omitempty"`
	Find   string `json:"find,omitempty"`
}

// reader returns the tool that reads, of which an Orchestrator has told the definition.
func (k *keeping) reader(def tools.Definition, run string) tools.Tool {
	return tools.New(def, func(_ context.Context, in partArguments) (string, error) {
		text, there := k.texts[in.ID]
		failed := func(why error) (string, error) {
			return "", &orchestrator.ReadResultError{Run: run, ID: in.ID, Size: int64(len(text)), Err: why}
		}
		k.readUntrusted = there && k.untrusted[in.ID]
		at := max(in.Offset, 0)
		switch {
		case !there:
			return failed(orchestrator.ErrNotKept)
		case at >= len(text):
			return failed(orchestrator.ErrBeyond)
		case in.Find != "":
			return placesIn(text, at, in.Find)
		}
		length := min(in.Length, 4*k.show)
		if in.Length <= 0 {
			length = k.show
		}
		from := textcut.After(text, at)
		to := textcut.After(text, min(len(text), max(at+length, from+1)))
		last := "[this is its end]"
		if to < len(text) {
			last = fmt.Sprintf("[it goes on at offset %d]", to)
		}
		return fmt.Sprintf("[bytes %d to %d of %d]\n%s\n%s", from, to, len(text), text[from:to], last), nil
	})
}

// placesIn lists where a text stands in another, from a place on, with the line around it: at most
// 80 bytes before it, and 120 behind it.
func placesIn(text string, at int, find string) (string, error) {
	if len(find) > 1000 {
		return "", errors.New("crash: the oracle looks for 1000 bytes at most")
	}
	var places []int
	for i := at; ; {
		next := strings.Index(text[i:], find)
		if next < 0 {
			break
		}
		places = append(places, i+next)
		i += next + len(find)
	}
	title := fmt.Sprintf("[%d places from byte %d on, of %d bytes]", len(places), at, len(text))
	if len(places) == 0 {
		return fmt.Sprintf("[it does not stand from byte %d on, of %d bytes]", at, len(text)), nil
	}
	if len(places) > 20 {
		title = fmt.Sprintf("[the first 20 places from byte %d on, of %d bytes; look on from offset %d]", at, len(text), places[20])
		places = slices.Clip(places[:20])
	}
	title += "\n"
	for _, place := range places {
		end := place + len(find)
		head, tail := text[max(0, place-80):place], text[end:min(len(text), end+120)]
		head = head[strings.LastIndex(head, "\n")+1:]
		tail, _, _ = strings.Cut(tail, "\n")
		title += fmt.Sprintf("byte %d: %s\n", place, strings.ToValidUTF8(head+find+tail, ""))
	}
	return title, nil
}
