package policyclient_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

const (
	inHermes = `<tool_call>{"name":"add","arguments":{"a":1}}</tool_call>`
	inKimi   = `<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a":1}<|tool_call_end|><|tool_calls_section_end|>`
	inGLM    = "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"
	inV31    = `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`
)

// What a policy makes of a thought does not depend on who separated it from the text.
// thinks returns a format for models that write thoughts in a certain way.
func thinks(f markdownpolicy.Format, thoughts markdownpolicy.Thoughts) markdownpolicy.Format {
	f.Thoughts = thoughts
	return f
}

func TestThoughts_whoeverSeparatesThem(t *testing.T) {
	fenced := markdownpolicy.Fenced.Render([]messages.AssistantContent{messages.ToolCall{Name: "add", Arguments: "{}"}})
	for _, c := range []struct {
		policy  markdownpolicy.Policy
		thought string
		calls   int
	}{
		{markdownpolicy.Hermes, "I add. " + inHermes, 1},
		{markdownpolicy.Hermes, inHermes + "\n" + inHermes + "\n", 2},
		{thinks(markdownpolicy.Hermes, markdownpolicy.ThoughtsOpen), "I add. " + inHermes, 1},
		{thinks(markdownpolicy.Hermes, markdownpolicy.ThoughtsAny), "I add. " + inHermes, 1},
		{markdownpolicy.GLM, "I add.\n" + inGLM, 1},
		{markdownpolicy.Kimi, "I add. " + inKimi, 1},
		{markdownpolicy.DeepSeek, "I add. " + inV31, 1},
		{markdownpolicy.Chain{markdownpolicy.Kimi, markdownpolicy.Fenced}, "I add. " + inKimi, 1},
		{markdownpolicy.Hermes, "I could say " + inHermes + " but I do not.", 0},
		{markdownpolicy.Hermes, "I know.", 0},
		{markdownpolicy.Think{Policy: markdownpolicy.Hermes}, "I add. " + inHermes, 0},
		{markdownpolicy.XML, "<tool_call><name>add</name><arguments>{}</arguments></tool_call>", 0},
	} {
		tagged, _, err := ask(t, policyclient.Wrap(scripted.New(scripted.Text("<think>"+c.thought+"</think>")), c.policy), question())
		require.NoError(t, err)
		require.Len(t, tagged.Message.Calls(), c.calls, c.thought)
		for _, text := range []string{"", " \n"} {
			resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Thought: c.thought, Text: text}), c.policy), question())
			require.NoError(t, err)
			require.Equal(t, tagged.Message.Calls(), resp.Message.Calls(), c.thought)
			require.Equal(t, tagged.Finish, resp.Finish)
			require.Equal(t, c.thought, h.thought, "it is streamed as it comes")
			if c.calls > 0 {
				require.Equal(t, tagged.Message.Content, resp.Message.Content)
			} else {
				require.Equal(t, c.thought, resp.Message.Thought())
				require.Empty(t, resp.Message.Text())
			}
		}
	}
	for _, c := range []struct {
		policy  markdownpolicy.Policy
		thought string
	}{ // their thoughts are not between these tags, or have one that would end them
		{markdownpolicy.Fenced, fenced},
		{markdownpolicy.Hermes, "The tag </think> ends a thought. I could say " + inHermes + " but I do not."},
		{markdownpolicy.GLM, "With </think> I would end, and say " + inGLM},
		{thinks(markdownpolicy.Hermes, markdownpolicy.ThoughtsNone), inHermes},
		{markdownpolicy.Llama, `{"name":"add","parameters":{}}`},
	} {
		resp, _, err := ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Thought: c.thought}), c.policy), question())
		require.NoError(t, err)
		require.Equal(t, []messages.AssistantContent{messages.Thought{Text: c.thought}}, resp.Message.Content)
	}
}

// A thought beside a text, a native call, or a cut, and one of a model that may not call, stays
// one.
func TestThoughts_thatStayOnes(t *testing.T) {
	without, none := question(), question()
	without.Tools, none.ToolChoice = nil, llmclient.ToolChoice{Mode: llmclient.ChooseNone}
	native := messages.ToolCall{ID: "x", Name: "add", Arguments: "{}"}
	for _, c := range []struct {
		reply scripted.Reply
		asked *llmclient.Request
	}{
		{scripted.Reply{Text: "Two."}, question()},
		{scripted.Reply{Calls: []messages.ToolCall{native}}, question()},
		{scripted.Reply{Finish: llmclient.FinishLength}, question()},
		{scripted.Reply{Finish: llmclient.FinishRefusal}, question()},
		{scripted.Reply{}, without},
		{scripted.Reply{}, none},
	} {
		c.reply.Thought = "I add. " + inKimi
		resp, _, err := ask(t, policyclient.Wrap(scripted.New(c.reply), markdownpolicy.Kimi), c.asked)
		require.NoError(t, err)
		require.Equal(t, c.reply.Thought, resp.Message.Thought())
		require.Equal(t, c.reply.Calls, resp.Message.Calls())
		require.Equal(t, c.reply.Text, resp.Message.Text())
	}
	signed := messages.Thought{Text: "I know.", Extras: messages.Extras{"signature": []byte(`"s"`)}}
	inner := &replies{message: messages.Assistant{Content: []messages.AssistantContent{signed}}}
	resp, err := policyclient.Wrap(inner, markdownpolicy.Kimi).Complete(t.Context(), question(), nil)
	require.NoError(t, err)
	require.Equal(t, inner.message, resp.Message)
}

// An unreadable call at the end of a thought is sent back, like one in a text.
func TestThoughts_unreadable(t *testing.T) {
	model := scripted.New(scripted.Reply{Thought: `So: <tool_call>{"name":"add"`}, scripted.Text("<think>So: <tool_call>{\"name\":\"add\"</tool_call></think>"),
		scripted.Reply{Thought: `So: <tool_call>{"name":"add"</tool_call>`}, scripted.Text("Two."))
	c := policyclient.Wrap(model, markdownpolicy.Hermes)
	resp, _, err := ask(t, c, question())
	require.NoError(t, err)
	require.Empty(t, resp.Message.Calls(), "without the end mark it is no call")
	resp, _, err = ask(t, c, question())
	require.NoError(t, err)
	require.Equal(t, "Two.", resp.Message.Text())
	require.Len(t, resp.Attempts, 2)
	for _, r := range model.Requests()[2:] {
		require.Contains(t, r.Messages.Last().(messages.User).Text(), "could not be read")
	}
}
