package frame

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
)

// SetList puts a list into the metadata, if there is anything in it. Its elements must be such as
// can be encoded.
func SetList[T any](m *delegation.Metadata, name string, list []T) {
	if len(list) > 0 {
		_ = m.Set(name, list)
	}
}

// SetFinish puts into the metadata why a model stopped, if not by itself.
func SetFinish(m *delegation.Metadata, why llmclient.FinishReason) {
	switch why {
	case "", llmclient.FinishStop, llmclient.FinishToolCalls:
	default:
		_ = m.Set("finish", why)
	}
}
