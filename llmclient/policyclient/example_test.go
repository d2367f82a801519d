package policyclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// A model that can only write text uses tools. The strategy and the orchestrator need no change.
func ExampleWrap() {
	add := tools.New(tools.Definition{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, in struct{ A, B float64 }) (float64, error) { return in.A + in.B, nil })
	model := scripted.New(
		scripted.Text("I will add them.\n```tool_call\n{\"name\":\"add\",\"arguments\":{\"A\":19.5,\"B\":22.5}}\n```"),
		scripted.Text("It is 42."),
	)
	o, err := orchestrator.New(orchestrator.Config{
		Client:     policyclient.Wrap(model, markdownpolicy.Fenced),
		Tools:      []tools.Tool{add},
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is 19.5 + 22.5?"}})
	fmt.Println(result.Output.Text(), err)
	for _, m := range model.Requests()[1].Messages[2:] {
		switch m := m.(type) {
		case messages.User:
			fmt.Println(m.Text())
		case messages.Assistant:
			fmt.Println(m.Text())
		}
	}
	// Output:
	// It is 42. <nil>
	// I will add them.
	//
	// ```tool_call
	// {"name": "add", "arguments": {"A":19.5,"B":22.5}}
	// ```
	// ```tool_result name="add" call_id="call_1_1" status="ok"
	// 42
	// ```
	//
	// If a step of the task is left, call the tool for it. If none is left, say the answer in a sentence.
}

// bang is a policy for one-line calls: a line such as !add {"a":1,"b":2} calls a tool; all other
// lines are text.
type bang struct{}

func (bang) Name() string { return "bang" }

func (bang) FormatInstructions(defs []tools.Definition) string {
	if len(defs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("To use a tool, write a line with ! and its name, and behind it the arguments as one JSON object:\n\n" +
		"!get_weather {\"city\":\"Oslo\"}\n\n" +
		"To begin a line of text with !, write \\! instead. The tools:\n")
	for _, d := range defs {
		fmt.Fprintf(&b, "\n%s: %s\nArguments: %s\n", d.Name, d.Description, d.Parameters)
	}
	return b.String()
}

func (bang) ParseResponse(text string) (markdownpolicy.Document, error) {
	doc := markdownpolicy.Document{Policy: "bang"}
	var said strings.Builder
	from, at, calls := 0, 0, 0
	flush := func(to int) {
		if s := strings.TrimSpace(said.String()); s != "" {
			doc.Parts = append(doc.Parts, markdownpolicy.Part{Content: messages.Text{Text: s}, Start: from, End: to})
		}
		said.Reset()
	}
	for line := range strings.Lines(text) {
		call, ok := strings.CutPrefix(line, "!")
		if !ok {
			said.WriteString(unescaped(line))
			at += len(line)
			continue
		}
		name, arguments, _ := strings.Cut(strings.TrimSpace(call), " ")
		if !json.Valid([]byte(arguments)) {
			said.WriteString(text[at:])
			flush(len(text))
			return doc, &markdownpolicy.ParseError{
				Policy: "bang", Offset: at, Line: 1 + strings.Count(text[:at], "\n"),
				Expected: "a JSON object behind the name of the tool", Found: arguments,
			}
		}
		flush(at)
		calls++
		content := messages.ToolCall{ID: fmt.Sprintf("call_%d", calls), Name: name, Arguments: arguments}
		doc.Parts = append(doc.Parts, markdownpolicy.Part{Content: content, Start: at, End: at + len(line)})
		at += len(line)
		from = at
	}
	flush(len(text))
	return doc, nil
}

func (p bang) FormatQuery(h messages.History) (messages.History, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	var out messages.History
	for _, m := range h {
		switch m := m.(type) {
		case messages.Assistant:
			if text := p.Render(m.Content); text != "" {
				out = append(out, messages.AssistantText(text))
			}
		case messages.Tool:
			out = append(out, messages.UserText(fmt.Sprintf("Result of %s: %s", m.ToolName, m.ForModel())))
		default:
			out = append(out, m)
		}
	}
	return out, nil
}

// Render writes what ParseResponse reads. Thoughts are left out, because the format has none.
func (bang) Render(parts []messages.AssistantContent) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case messages.Text:
			for line := range strings.Lines(p.Text) {
				b.WriteString(escaped(line))
			}
			b.WriteString("\n")
		case messages.ToolCall:
			b.WriteString("!" + p.Name + " " + p.Arguments + "\n")
		default:
		}
	}
	return strings.TrimSpace(b.String())
}

// escaped writes a line of text so that it is not read as a call.
func escaped(line string) string {
	if strings.HasPrefix(strings.TrimLeft(line, `\`), "!") {
		return `\` + line
	}
	return line
}

func unescaped(line string) string {
	if strings.HasPrefix(strings.TrimLeft(line, `\`), "!") {
		return strings.TrimPrefix(line, `\`)
	}
	return line
}

// TestBang checks the most important law: the rendered past of a model is read as what happened.
func TestBang(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) messages.AssistantContent {
		return messages.Text{Text: strings.TrimSpace(rapid.StringMatching(`[!\\ a\n]{0,20}`).Draw(t, "text")) + "."}
	})
	call := rapid.Custom(func(t *rapid.T) messages.AssistantContent {
		arguments, _ := json.Marshal(map[string]string{"a": rapid.String().Draw(t, "argument")})
		return messages.ToolCall{ID: "call_1", Name: "add", Arguments: string(arguments)}
	})
	rapid.Check(t, func(t *rapid.T) {
		parts := []messages.AssistantContent{text.Draw(t, "before"), call.Draw(t, "call"), text.Draw(t, "after")}
		doc, err := bang{}.ParseResponse(bang{}.Render(parts))
		require.NoError(t, err)
		require.Equal(t, parts, doc.Contents())
	})
}

// Your own policy can be used like a built-in one.
func ExampleWrap_ownPolicy() {
	model := scripted.New(scripted.Text("One moment.\n!add {\"a\":1,\n"), scripted.Text("One moment.\n!add {\"a\":1,\"b\":2}\n"))
	req := question()
	resp, err := policyclient.Wrap(model, bang{}).Complete(context.Background(), req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text(), resp.Message.Calls())
	for _, a := range resp.Attempts {
		fmt.Println(a.Code, a.Error)
	}
	// Output:
	// One moment. [{call_1_1 add {"a":1,"b":2} map[]}]
	// malformed_tool_call markdownpolicy: bang: line 2 (byte 12): expected a JSON object behind the name of the tool, found "{\"a\":1,"
}
