package openaichat_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello, "}}]}`+"\n\n")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"world."},"finish_reason":"stop"}]}`+"\n\n")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer server.Close()

	client, err := openaichat.New(openaichat.Config{Model: "any", BaseURL: server.URL, HTTPClient: server.Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &llmclient.Request{Messages: messages.History{messages.UserText("Say hello.")}}
	resp, err := client.Complete(context.Background(), req, func(d llmclient.Delta) { fmt.Printf("%q\n", d.Text) })
	if err != nil {
		fmt.Println(llmclient.CodeOf(err), err)
		return
	}
	fmt.Println(resp.Finish, resp.Message.Text())
	// Output:
	// "Hello, "
	// "world."
	// stop Hello, world.
}
