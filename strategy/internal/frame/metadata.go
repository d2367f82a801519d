package frame

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/strategy/compaction"
)

// SetList adds a list to the metadata, unless it is empty. It must be possible to encode its
// elements.
func SetList[T any](m *delegation.Metadata, name string, list []T) {
	if len(list) > 0 {
		_ = m.Set(name, list)
	}
}

// SetCompactions adds to the metadata how often a conversation became shorter, and how often a
// summary failed, unless never.
func SetCompactions(m *delegation.Metadata, c *compaction.Compactor) {
	made, failed := c.Counts()
	if made > 0 {
		_ = m.Set("compactions", made)
	}
	if failed > 0 {
		_ = m.Set("summaries_failed", failed)
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
