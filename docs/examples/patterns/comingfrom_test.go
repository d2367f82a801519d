package patterns

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/tools"
)

// An Agent with a function tool, and Runner.run, of OpenAI's Agents SDK.
func Example_openAIAgents() {
	ctx := context.Background()
	model := scripted.New(scripted.Calls(scripted.Call("get_weather", `{"City":"Tokyo"}`, "")), scripted.Text("It is sunny."))

	weather := tools.New(tools.Definition{Name: "get_weather", Description: "Tells the weather of a city.", ReadOnly: true},
		func(_ context.Context, in struct{ City string }) (string, error) { return "sunny in " + in.City, nil })
	agent := segue.Agent{
		Model:  model,
		System: "You are a helpful agent.", // instructions
		Tools:  []tools.Tool{weather},      // tools
		Configure: func(c *orchestrator.Config) {
			c.Limits = delegation.Limits{ModelCalls: 10} // max_turns
		},
	}
	answer, err := agent.Ask(ctx, "What's the weather in Tokyo?") // Runner.run, final_output
	fmt.Println(answer, err)
	// Output: It is sunny. <nil>
}

// A Chain of eino: a ChatTemplate, a ChatModel, a Lambda.
func Example_eino() {
	ctx := context.Background()
	model := scripted.New(scripted.Text("Night trains of Norway"))

	upper := tools.New(tools.Definition{Name: "upper", Description: "Writes a text in capitals.", ReadOnly: true},
		func(_ context.Context, in struct{ Text string }) (string, error) {
			return strings.ToUpper(in.Text), nil
		})
	o, err := orchestrator.New(orchestrator.Config{
		Client: model,
		Tools:  []tools.Tool{upper},
		Strategies: strategy.Set{
			"title": workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{
				{Strategy: "writer", Prompt: "Write a title for a text on {{.Goal}}."}, // AppendChatTemplate, AppendChatModel
				{Tool: "upper", Prompt: `{"Text": {{json .Last}}}`},                    // AppendLambda
			}}),
			"writer": completetask.New(completetask.Config{Tools: []string{}}),
		},
		Default: "title",
	})
	if err != nil {
		log.Fatal(err) // what Compile finds: a name that is missing, a cycle without a bound
	}
	result, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: "night trains"}}) // Invoke
	fmt.Println(result.Output.Text(), err)
	// Output: NIGHT TRAINS OF NORWAY <nil>
}

// An interrupt of LangGraph before a tool, and a Command that resumes the thread.
func Example_langGraph() {
	ctx := context.Background()
	model := scripted.New(scripted.Calls(scripted.Call("book", `{"Hotel":"Ritz"}`, "")), scripted.Text("It is booked."))

	book := tools.New(tools.Definition{Name: "book", Description: "Books a hotel.", NeedsApproval: true}, // interrupt()
		func(_ context.Context, in struct{ Hotel string }) (string, error) { return "booked " + in.Hotel, nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: model, Tools: []tools.Tool{book},
		Strategies: strategy.Set{"agent": completetask.New(completetask.Config{})},
		Store:      new(checkpoint.Memory), // checkpointer=InMemorySaver()
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(ctx, orchestrator.Task{Run: "trip-1", Input: delegation.Input{Goal: "Book the Ritz."}}) // invoke, thread_id
	for _, w := range result.Waits {                                                                             // __interrupt__
		fmt.Println(w.Tool, w.Arguments, err)
	}
	reply := machine.Reply{WaitID: result.Waits[0].ID, Approve: true} // Command(resume=…)
	result, err = orchestrator.Collect(o.Resume(ctx, orchestrator.Resumption{Run: "trip-1", Replies: []machine.Reply{reply}}))
	fmt.Println(result.Output.Text(), err)
	// Output:
	// book {"Hotel":"Ritz"} <nil>
	// It is booked. <nil>
}

// A conversation chain of langchaingo with a ConversationBuffer.
func Example_langChainGo() {
	ctx := context.Background()
	model := scripted.New(scripted.Text("Hello, Ann."), scripted.Text("You are Ann."))

	agent := segue.Agent{Model: model}
	chat := agent.Chat(nil)                 // NewConversation with a NewConversationBuffer
	fmt.Println(chat.Ask(ctx, "I am Ann.")) // chains.Run
	fmt.Println(chat.Ask(ctx, "Who am I?"))
	kept, err := json.Marshal(chat.History) // the ChatHistory, to store where you like
	fmt.Println(len(chat.History), "messages", len(kept) > 0, err)
	// Output:
	// Hello, Ann. <nil>
	// You are Ann. <nil>
	// 4 messages true <nil>
}

// A SequentialAgent of adk-go: the second agent reads the OutputKey of the first; in a Session.
func Example_adk() {
	ctx := context.Background()
	model := scripted.New(scripted.Text("1. Bergen"), scripted.Text("Bergen has a night train."))

	o, err := orchestrator.New(orchestrator.Config{
		Client: model,
		Strategies: strategy.Set{
			"guide": workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{ // sequentialagent.New
				{Strategy: "outline"}, // OutputKey: "outline"
				{Strategy: "writer", Prompt: "Write on {{.Goal}} along: {{.Of \"outline\"}}"}, // {outline}
			}}),
			"outline": completetask.New(completetask.Config{System: "You make outlines."}), // llmagent.New, Instruction
			"writer":  completetask.New(completetask.Config{System: "You write."}),
		},
		Default: "guide",
		Store:   new(checkpoint.Memory), // session.InMemoryService()
	})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range o.Stream(ctx, orchestrator.Task{ // Runner.Run
		Namespace: "ann", Session: "trip", Input: delegation.Input{Goal: "Norway"}, // userID, sessionID, message
	}) {
		if end, ok := event.Detail.(machine.RunFinished); ok {
			fmt.Println(end.Output.Text(), err)
		}
	}
	// Output: Bergen has a night train. <nil>
}
