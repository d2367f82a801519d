package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// A call without its end mark is reported as open: only the caller can know whether it was cut off.
func TestOpenCalls(t *testing.T) {
	mended := markdownpolicy.Options{Mode: markdownpolicy.ModeRepair}
	known := markdownpolicy.Options{Tools: []tools.Definition{{Name: "t", Parameters: []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}}
	const object = `{"name":"t","arguments":{"a":1}}`
	for _, c := range []struct {
		policy markdownpolicy.Policy
		text   string
		open   []bool
	}{
		{markdownpolicy.Fenced, "```tool_call\n" + object, []bool{true}},
		{markdownpolicy.Fenced, "```tool_call\n" + object + "\n``", []bool{true}},
		{markdownpolicy.Fenced, "```tool_call\n" + object + "\n```", []bool{false}},
		{markdownpolicy.Fenced, "```tool_call\n" + object + "\n```\n\n```tool_call\n" + object + "\n" + object, []bool{false, false, true}},
		{markdownpolicy.Fenced, "```tool_call\n" + object + "```", []bool{false}},
		{markdownpolicy.Fenced, "So: " + object, []bool{false}},
		{markdownpolicy.Fenced.With(mended), "```tool_call\n" + `{"name":"t","arguments":{"a":1}`, []bool{true}},
		{markdownpolicy.XML, "<tool_call><name>t</name><arguments>{}</arguments></tool_", []bool{true}},
		{markdownpolicy.XML, "<tool_call><name>t</name><arguments>{}</argu", []bool{true}},
		{markdownpolicy.XML, "<tool_call><name>t</name>", []bool{true}},
		{markdownpolicy.XML, "<tool_call><name>t</name></tool_call>", []bool{false}},
		{markdownpolicy.XML.With(known), "<t><a>1</a>", []bool{true}},
		{markdownpolicy.XML.With(known), "<t><a>1</a></t>", []bool{false}},
		{markdownpolicy.Hermes, "<tool_call>" + object, []bool{true}},
		{markdownpolicy.Hermes, "<tool_call>" + object + object + "</tool_cal", []bool{false, true}},
		{markdownpolicy.Hermes, "<tool_call>" + object + "</tool_call>", []bool{false}},
		{markdownpolicy.Hermes, "<tool_call>t<arg_key>a</arg_key><arg_value>1</arg_value>", []bool{true}},
		{markdownpolicy.Hermes, "<tool_call>t<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", []bool{false}},
		{markdownpolicy.Hermes.With(known), `<function=t>{"a":"x"}</function>`, []bool{false}},
		{markdownpolicy.Hermes.With(known), `<function=t>{"a":"x"}`, []bool{true}},
		{markdownpolicy.XML.With(known), `<function=t><parameter=a>x</parameter>`, []bool{true}},
		{markdownpolicy.Llama.With(known), `<function=t><parameter=a>x</parameter></func`, []bool{true}},
		{markdownpolicy.XML.With(known), `<t/>`, []bool{false}},
		{markdownpolicy.Llama, `{"name":"t","parameters":{}}`, []bool{false}},
		{markdownpolicy.Llama.With(mended), `{"name":"t","parameters":{"a":1}`, []bool{true}},
		{markdownpolicy.Pythonic, `[t(a=1)]`, []bool{false}},
		{markdownpolicy.Pythonic.With(mended), `[t(a=1), t(a=2)`, []bool{false, true}},
		{markdownpolicy.Mistral, "[TOOL_CALLS][" + object + "]", []bool{false}},
		{markdownpolicy.Mistral, "[TOOL_CALLS]t[ARGS]{}", []bool{false}},
		{markdownpolicy.Mistral.With(mended), "[TOOL_CALLS]t[ARGS]{\"a\":{\"b\":1}", []bool{true}},
		{markdownpolicy.Mistral.With(mended), "[TOOL_CALLS][" + object + "," + object, []bool{false, true}},
		{markdownpolicy.ReAct{}, "Action: t\nAction Input: {\"a\":1}", []bool{false}},
		{markdownpolicy.ReAct{}, "Action: t\nAction Input: {\"a\":1}\nThought: so", []bool{false}},
		{markdownpolicy.ReAct{}, "Action: t\nAction Input: some te", []bool{true}},
		{markdownpolicy.ReAct{}, "Action: t\nAction Input: some text\nObservation: ", []bool{false}},
		{markdownpolicy.ReAct{}, "Action: t", []bool{true}},
		{markdownpolicy.ReAct{}, "Action: t[some text]", []bool{false}},
		{markdownpolicy.ReAct{Options: mended}, "Action: t\nAction Input: {\"a\":[1]", []bool{true}},
		{markdownpolicy.Think{}, "```tool_call\n" + object, []bool{true}},
		{markdownpolicy.Think{}, "```tool_call\n" + object + "\n<think>so", []bool{false}},
		{markdownpolicy.Chain{markdownpolicy.XML, markdownpolicy.Hermes}, "<tool_call>" + object, []bool{true}},
	} {
		doc, err := c.policy.ParseResponse(c.text)
		require.NoError(t, err, c.text)
		var open []bool
		for _, p := range doc.Parts {
			if _, ok := p.Content.(messages.ToolCall); ok {
				open = append(open, p.Open)
			} else {
				require.False(t, p.Open)
			}
		}
		require.Equal(t, c.open, open, c.text)
	}
}
