package llmclient_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestRequest_Departure(t *testing.T) {
	h := messages.History{messages.System{Text: "Be brief."}, messages.UserText("Add 2 and 2.")}
	longer := append(h.Clip(), messages.AssistantText("4"), messages.UserText("And 3?"))
	look := tools.Definition{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}
	pay := tools.Definition{Name: "pay"}
	as := &llmclient.Schema{Name: "a", Schema: json.RawMessage("{}")}
	strict := &llmclient.Schema{Name: "a", Schema: json.RawMessage("{}"), Strict: true}
	for name, c := range map[string]struct {
		earlier, now llmclient.Request
		want         string
	}{
		"longer":              {llmclient.Request{Messages: h}, llmclient.Request{Messages: longer}, ""},
		"the same":            {llmclient.Request{Messages: h}, llmclient.Request{Messages: h}, ""},
		"shorter":             {llmclient.Request{Messages: longer}, llmclient.Request{Messages: h}, "it has 2 messages, and the earlier one 4"},
		"another message":     {llmclient.Request{Messages: h}, llmclient.Request{Messages: longer[1:]}, "message 1 of 3 is not as in the earlier one"},
		"a copy of the tools": {llmclient.Request{Tools: []tools.Definition{look, pay}}, llmclient.Request{Tools: []tools.Definition{look, pay}}, ""},
		"what no model sees":  {llmclient.Request{Tools: []tools.Definition{pay}}, llmclient.Request{Tools: []tools.Definition{{Name: "pay", NeedsApproval: true}}}, ""},
		"one tool more":       {llmclient.Request{Tools: []tools.Definition{look}}, llmclient.Request{Tools: []tools.Definition{look, pay}}, `it offers more tools: ["pay"]`},
		"tools in another order": {
			llmclient.Request{Tools: []tools.Definition{look, pay}},
			llmclient.Request{Tools: []tools.Definition{pay, look}},
			`it offers the tools ["pay" "look"], and the earlier one ["look" "pay"]`,
		},
		"other parameters": {
			llmclient.Request{Tools: []tools.Definition{look}},
			llmclient.Request{Tools: []tools.Definition{{Name: "look"}}},
			`it offers the tools ["look"], and the earlier one ["look"], described otherwise`,
		},
		"tools in the text": {llmclient.Request{ToolFormat: llmclient.ToolsText, Tools: []tools.Definition{look}}, llmclient.Request{ToolFormat: llmclient.ToolsText}, ""},
		"a copy of the schema": {
			llmclient.Request{Schema: as},
			llmclient.Request{Schema: &llmclient.Schema{Name: "a", Schema: json.RawMessage("{}")}},
			"",
		},
		"a strict schema": {llmclient.Request{Schema: as}, llmclient.Request{Schema: strict}, "it asks for an answer of another schema"},
		"no schema":       {llmclient.Request{Schema: as}, llmclient.Request{}, "it asks for an answer of another schema"},
	} {
		require.Equal(t, c.want, c.now.Departure(&c.earlier), name)
	}
}
