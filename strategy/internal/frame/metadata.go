package frame

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
)

// SetList adds a list to the metadata, unless it is empty. It must be possible to encode its
// elements.
func SetList[T any](m *delegation.Metadata, name string, list []T) {
	if len(list) > 0 {
		_ = m.Set(name, list)
	}
}

// SetFinish adds to the metadata why a model stopped, if not by itself.
func SetFinish(m *delegation.Metadata, why llmclient.FinishReason) {
	switch why {
	case "", llmclient.FinishStop, llmclient.FinishToolCalls:
	default:
		_ = m.Set("finish", why)
	}
}
