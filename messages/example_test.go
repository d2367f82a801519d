package messages_test

import (
	"encoding/json"
	"fmt"

	"github.com/segue-go/segue/messages"
)

func ExampleHistory_Repair() {
	h := messages.History{
		messages.UserText("What is in a and b?"),
		messages.Assistant{Content: []messages.AssistantContent{
			messages.ToolCall{ID: "c1", Name: "read_file", Arguments: `{"path":"a"}`},
			messages.ToolCall{ID: "c2", Name: "read_file", Arguments: `{"path":"b"}`},
		}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1", ToolName: "read_file", Output: "X"}},
		messages.UserText("Never mind."),
	}
	fmt.Println(h.Validate())

	h, repairs := h.Repair()
	for _, r := range repairs {
		fmt.Println(r)
	}
	fmt.Println(h.Validate())
	// Output:
	// messages: message 1: call "c2" is not answered directly after its message
	// message 1: call "c2" has no answer: answered as interrupted
	// <nil>
}

func ExampleHistory_MarshalJSON() {
	h := messages.History{messages.System{Text: "Be brief."}, messages.UserText("Hello!")}
	data, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(data))
	// Output:
	// {"v":1,"messages":[{"role":"system","text":"Be brief."},{"role":"user","content":[{"type":"text","text":"Hello!"}]}]}
}
