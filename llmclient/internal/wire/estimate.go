package wire

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// estimated returns the usage of a reply, with an estimate of what the model wrote if the provider
// has not counted it.
func estimated(u messages.Usage, came messages.Assistant) messages.Usage {
	if u.Output == 0 {
		u.Output = int64(llmclient.EstimateTokens(&llmclient.Request{Messages: messages.History{came}}))
		u.Estimated, u.Total = u.Output, max(u.Total, u.Input+u.Output)
	}
	return u
}

// withInput adds an estimate of what the model read, if the provider has not counted it.
func withInput(u *messages.Usage, req *llmclient.Request) {
	if u.Input == 0 {
		u.Input = int64(llmclient.EstimateTokens(req))
		u.Estimated, u.Total = u.Estimated+u.Input, max(u.Total, u.Input+u.Output)
	}
}
