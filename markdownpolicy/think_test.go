package markdownpolicy_test

import (
	"strings"
	"testing"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
)

func TestS2_22_ThoughtsBetweenTags(t *testing.T) {
	call := `{"name":"t","arguments":{"html":"<think></think>"}}`
	block := "```tool_call\n" + call + "\n```"
	did := callPart("call_1", "t", `{"html":"<think></think>"}`)
	for _, tt := range []struct {
		reply string
		want  []messages.AssistantContent
	}{
		{"<think>hm</think>Paris.", []messages.AssistantContent{thoughtPart("hm"), textPart("Paris.")}},
		{"\n<think>\nhm\n\nhm\n</think>\n\n" + block, []messages.AssistantContent{thoughtPart("hm\n\nhm"), did}},
		{"I should look.</think>Paris.", []messages.AssistantContent{thoughtPart("I should look."), textPart("Paris.")}},
		{block + " is what I could say.\n</think>\nHello.", []messages.AssistantContent{thoughtPart(block + " is what I could say."), textPart("Hello.")}},
		{"Well. <think>cut off " + fencedCall, []messages.AssistantContent{textPart("Well."), thoughtPart("cut off " + fencedCall)}},
		{"<think> </think>Hi.", []messages.AssistantContent{textPart("Hi.")}},
		{"A <think></think> b", []messages.AssistantContent{textPart("A  b")}},
		{"<think>a</think>b<think>c</think>\n" + block + "<think>d", []messages.AssistantContent{thoughtPart("a"), textPart("b"), thoughtPart("c"), did, thoughtPart("d")}},
		{"<think>a</think><think>b</think>", []messages.AssistantContent{thoughtPart("a"), thoughtPart("b")}},
		{block, []messages.AssistantContent{did}},
		{"`\\<think>` begins, `\\</think>` ends", []messages.AssistantContent{textPart("`<think>` begins, `</think>` ends")}},
		{"<think>a</think>b</think>", []messages.AssistantContent{thoughtPart("a"), textPart("b</think>")}},
		{"6\" pipe <think>secret</think> done", []messages.AssistantContent{textPart("6\" pipe"), thoughtPart("secret"), textPart("done")}},
		{"6\" pipe <think>a \"secret\"</think> done", []messages.AssistantContent{textPart("6\" pipe"), thoughtPart("a \"secret\""), textPart("done")}},
		{"about 5\" disks</think> answer", []messages.AssistantContent{thoughtPart("about 5\" disks"), textPart("answer")}},
		{"a \" b <think>secret</think> done\n\"", []messages.AssistantContent{textPart("a \" b"), thoughtPart("secret"), textPart("done\n\"")}},
		{"<think></think>a \" b \\<think> \\\" <think>c</think>", []messages.AssistantContent{textPart("a \" b <think> \\\""), thoughtPart("c")}},
		{"the tag \"<think>\" begins", []messages.AssistantContent{textPart("the tag \"<think>\" begins")}},
		{"", nil},
	} {
		for size := range len(tt.reply) + 1 {
			checkReply(t, lawful{Policy: markdownpolicy.Think{}, name: "think"}, tt.reply, size)
		}
		got := partsOf(t, markdownpolicy.Think{}, tt.reply)
		require.Equal(t, tt.want, append([]messages.AssistantContent(nil), got...), "%q", tt.reply)
	}
}

func TestS2_22_CallsAreCountedThroughTheReply(t *testing.T) {
	block := "```tool_call\n{\"name\":\"t\",\"arguments\":{}}\n```\n"
	require.Equal(t, []messages.AssistantContent{callPart("call_1", "t", "{}"), thoughtPart("more"), callPart("call_2", "t", "{}"), callPart("call_3", "t", "{}")},
		partsOf(t, markdownpolicy.Think{}, block+"<think>more</think>\n"+block+block))
}

func TestS2_22_WaysToBegin(t *testing.T) {
	open := markdownpolicy.Think{Start: markdownpolicy.ThoughtsOpen}
	require.Equal(t, []messages.AssistantContent{thoughtPart("hm"), textPart("Hi.")}, partsOf(t, open, "hm</think>Hi."))
	require.Equal(t, []messages.AssistantContent{thoughtPart("hm"), textPart("Hi.")}, partsOf(t, open, " <think>hm</think>Hi."))
	require.Equal(t, []messages.AssistantContent{thoughtPart("hm")}, partsOf(t, open, "hm"))
	tagged := markdownpolicy.Think{Start: markdownpolicy.ThoughtsTagged}
	require.Equal(t, []messages.AssistantContent{textPart("hm</think>Hi.")}, partsOf(t, tagged, "hm</think>Hi."))

	require.Empty(t, markdownpolicy.Think{}.NewParser().Write("This may be a thought yet"))
	require.Len(t, tagged.NewParser().Write("This is none"), 1)
	for _, p := range []markdownpolicy.Think{open, {}} {
		parser := p.NewParser()
		parser.Write("<think>")
		require.Equal(t, []markdownpolicy.Part{{Content: thoughtPart("Let me"), Start: 8, End: 14}}, parser.Write(" Let me "), "thoughts are released as they come")
		require.Equal(t, []markdownpolicy.Part{{Content: thoughtPart(" see"), Start: 14, End: 18}}, parser.Write("see</think"))
	}
}

func TestThinkPlacesErrorsInTheReply(t *testing.T) {
	reply := "<think>a\nb</think>\nSee: \\<think>\n```tool_call\n{\"name\":}\n```\n<think>c</think>d"
	doc, err := markdownpolicy.Think{}.ParseResponse(reply)
	var broken *markdownpolicy.ParseError
	require.ErrorAs(t, err, &broken)
	require.Equal(t, 5, broken.Line)
	require.Equal(t, []messages.AssistantContent{
		thoughtPart("a\nb"), textPart("See: <think>\n```tool_call\n{\"name\":}\n```"), thoughtPart("c"), textPart("d"),
	}, doc.Contents(), "thoughts behind an error are no text")
	require.Equal(t, "fenced", doc.Policy)
}

func TestThinkRendersWithTheOtherPolicy(t *testing.T) {
	h := messages.History{
		messages.Assistant{Content: []messages.AssistantContent{thoughtPart("a </think> b"), callPart("c", "look", "{}")}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c", ToolName: "look", Output: "seen"}},
	}
	got, err := markdownpolicy.Think{}.FormatQuery(h)
	require.NoError(t, err)
	plain, err := markdownpolicy.Fenced.FormatQuery(h)
	require.NoError(t, err)
	require.Equal(t, "<think>\na \\</think> b\n</think>\n\n```tool_call\n{\"name\": \"look\", \"arguments\": {}}\n```", got[0].(messages.Assistant).Text())
	require.Equal(t, plain[1], got[1])

	got, err = markdownpolicy.Think{Policy: markdownpolicy.ReAct{}}.FormatQuery(h)
	require.NoError(t, err)
	require.Equal(t, "Thought: a </think> b\nAction: look\nAction Input: {}", got[0].(messages.Assistant).Text())
}

func FuzzThink(f *testing.F) {
	f.Add("a <think>b</think>c\\</think> \"<think>\" ```json\n{\"name\":\"t\",\"arguments\":{}}\n```", 2)
	f.Add("a \" <think>b</think> \\<think>\n\"</think>\"\\", 1)
	f.Add("hm\n</think>\n```tool_call\n{\n```\n<think>x", 1)
	f.Fuzz(func(t *testing.T, reply string, size int) {
		for _, start := range []markdownpolicy.Thoughts{markdownpolicy.ThoughtsAny, markdownpolicy.ThoughtsTagged, markdownpolicy.ThoughtsOpen} {
			p := markdownpolicy.Think{Start: start}
			checkReply(t, lawful{Policy: p, name: "think"}, reply, size)
			checkRoundTrip(t, p, []messages.AssistantContent{textPart(reply), callPart("", "t", "{}"), thoughtPart(reply), textPart(reply)})
		}
	})
}

// One odd quote in a thought does not make its end a quotation: neither the quotes of the answer
// nor those of a call are its second one.
func TestS2_1_LoneQuoteInThought(t *testing.T) {
	const v31 = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>t<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
	call := callPart("call_1", "t", `{"a": 1}`)
	for _, c := range []struct {
		model, reply string
		want         []messages.AssistantContent
	}{
		{
			"glm-4.6", `<think>Not <tool_call>t</tool_call>; I must only escape the " character.</think>Write it as "&quot;".`,
			parts(thoughtPart(`Not <tool_call>t</tool_call>; I must only escape the " character.`), textPart(`Write it as "&quot;".`)),
		},
		{"deepseek-v3.1", `I must escape the " character.</think>` + v31, parts(thoughtPart(`I must escape the " character.`), call)},
		{"deepseek-v3.1", `The user said "hi.</think>` + v31, parts(thoughtPart(`The user said "hi.`), call)},
		{"glm-4.7", `I must escape the " character.</think>Write it as "&quot;".`, parts(thoughtPart(`I must escape the " character.`), textPart(`Write it as "&quot;".`))},
		{"qwen3", `The user said "hi.</think>You said "hi".`, parts(thoughtPart(`The user said "hi.`), textPart(`You said "hi".`))},
		{"qwen3", `I must escape the " character.</think>It is 5" wide.`, parts(thoughtPart(`I must escape the " character.`), textPart(`It is 5" wide.`))},
		{"qwen3", `Write "a </think> b" so.`, parts(textPart(`Write "a </think> b" so.`))},
		{"qwen3", "<tool_call>\n" + `{"name": "t", "arguments": {"a": " </think> "}}` + "\n</tool_call>", parts(callPart("call_1", "t", `{"a": " </think> "}`))},
	} {
		p, ok := markdownpolicy.ForModel(c.model)
		require.True(t, ok)
		p = p.(markdownpolicy.Tooled).WithTools([]tools.Definition{{Name: "t"}})
		require.Equal(t, c.want, partsOf(t, p, c.reply), "%s: %s", c.model, c.reply)
		checkPieces(t, lawful{Policy: p}, c.reply, 1)
	}
}

// A call is read however much text is on the line of a tag in it.
func TestS2_1_LongLineBehindTag(t *testing.T) {
	long := callPart("", "t", `{"a":"</think>`+strings.Repeat("x", 1<<17)+`"}`)
	for _, p := range []markdownpolicy.Policy{
		thinking(markdownpolicy.Kimi, markdownpolicy.ThoughtsAny),
		thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsAny),
		thinking(markdownpolicy.DeepSeek, markdownpolicy.ThoughtsAny),
		markdownpolicy.Think{Policy: markdownpolicy.Hermes},
	} {
		checkRoundTrip(t, p, parts(textPart("hi"), long, textPart("bye")))
	}
}

// A tag in a value that is written without quotes is part of the value.
func TestS2_1_TagInValueWithoutQuotes(t *testing.T) {
	const qwen = "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\n%\n</parameter>\n</function>\n</tool_call>"
	const glm = "<tool_call>write_file<arg_key>path</arg_key><arg_value>a.py</arg_value><arg_key>content</arg_key><arg_value>%</arg_value></tool_call>"
	for _, c := range []struct{ model, call, content string }{
		{"qwen3-coder", qwen, "text.split('</think>')[-1]"},
		{"qwen3-coder", qwen, "re.sub('<think>.*?</think>', '', text)"},
		{"glm-4.7", glm, "the end is </think>, always"},
		{"glm-4.7", glm, "the tag <think> begins it"},
	} {
		p, ok := markdownpolicy.ForModel(c.model)
		require.True(t, ok)
		p = p.(markdownpolicy.Tooled).WithTools(fileTools)
		wrote := callPart("call_1", "write_file", `{"path":"a.py","content":"`+c.content+`"}`)
		written := strings.Replace(c.call, "%", c.content, 1)
		for reply, want := range map[string][]messages.AssistantContent{
			written:                                  parts(wrote),
			"Plan.</think>" + written:                parts(thoughtPart("Plan."), wrote),
			"<think>Plan.</think>I write." + written: parts(thoughtPart("Plan."), textPart("I write."), wrote),
			"So <parameter=content> holds it.</think>" + written: parts(thoughtPart("So <parameter=content> holds it."), wrote),
		} {
			require.Equal(t, want, partsOf(t, p, reply), "%s: %s", c.model, reply)
			checkPieces(t, lawful{Policy: p}, reply, 1)
		}
		checkRoundTrip(t, p, parts(thoughtPart("Plan."), wrote, textPart("Done.")))
	}
}
