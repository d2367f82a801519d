package frame

import "github.com/segue-go/segue/delegation"

// SetList adds a list to the metadata, unless it is empty. It must be possible to encode its
// elements.
func SetList[T any](m *delegation.Metadata, name string, list []T) {
	if len(list) > 0 {
		_ = m.Set(name, list)
	}
}
