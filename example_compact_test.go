package segue_test

import (
	"context"
	"fmt"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/compaction"
)

// A conversation stays within what the model reads, and a pinned message stays in it.
func ExampleAgent_compact() {
	model := scripted.New(scripted.Text("It costs 3 euros, customer 4711."))
	agent := segue.Agent{Model: model, Compact: &compaction.Config{Window: 128_000}}
	rule := messages.UserText("My customer number is 4711. Prices are always in euros.")
	rule.Pinned = true
	chat := agent.Chat(messages.History{rule})
	answer, err := chat.Ask(context.Background(), "What does it cost?")
	fmt.Println(answer, err)
	// Output: It costs 3 euros, customer 4711. <nil>
}
