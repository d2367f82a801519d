package scripted_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

// A script is a list of replies; the requests can be examined afterwards.
func ExampleNew() {
	model := scripted.New(
		scripted.Calls(scripted.Call("add", `{"a":1,"b":2}`, "c1")),
		scripted.Stream("The sum ", "is 3."),
	)
	ctx, req := context.Background(), &llmclient.Request{Messages: messages.History{messages.UserText("1+2?")}}

	resp, _ := model.Complete(ctx, req, nil)
	call := resp.Message.Calls()[0]
	fmt.Println(call.Name, call.Arguments)

	req.Messages = append(req.Messages, resp.Message, messages.Tool{ToolOutput: messages.ToolOutput{CallID: call.ID, Output: "3"}})
	_, _ = model.Complete(ctx, req, func(d llmclient.Delta) { fmt.Printf("%q\n", d.Text) })

	fmt.Println(model.Remaining(), "replies left,", len(model.Requests()), "requests made")
	// Output:
	// add {"a":1,"b":2}
	// "The sum "
	// "is 3."
	// 0 replies left, 2 requests made
}

// printer replaces a *testing.T.
type printer struct{}

func (printer) Helper()                           {}
func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func ExampleClient_AssertComplete() {
	model := scripted.New(scripted.Text("asked for"), scripted.Text("forgotten"))
	_, _ = model.Complete(context.Background(), &llmclient.Request{}, nil)
	model.AssertComplete(printer{})
	// Output:
	// scripted: 1 of 2 replies were not used up after 1 requests: reply 2 (assistant "forgotten")
}

func ExampleLoad() {
	replies, err := scripted.Load(strings.NewReader(`[{"deltas": ["Hello, ", "world."]}, {"error": {"code": "auth", "status": 401}}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	model := scripted.New(replies...)
	resp, _ := model.Complete(context.Background(), &llmclient.Request{}, nil)
	fmt.Println(resp.Message.Text())
	_, err = model.Complete(context.Background(), &llmclient.Request{}, nil)
	fmt.Println(err)
	// Output:
	// Hello, world.
	// llmclient: auth (status 401)
}

// The traffic with any client is recorded once, and later answered from the cassette.
func ExampleReplay() {
	ctx, hello := context.Background(), &llmclient.Request{Messages: messages.History{messages.UserText("Hello!")}}
	var cassette bytes.Buffer // or a file
	_, _ = scripted.Record(scripted.New(scripted.Text("Hi.")), &cassette).Complete(ctx, hello, nil)

	model, err := scripted.Replay(&cassette)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, _ := model.Complete(ctx, hello, nil)
	fmt.Println(resp.Message.Text())

	_, err = model.Complete(ctx, hello, nil)
	fmt.Println(llmclient.CodeOf(err))
	// Output:
	// Hi.
	// bad_request
}
