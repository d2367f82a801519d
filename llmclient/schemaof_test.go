package llmclient_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
)

type sized[T any] struct{ Size T }

// The name of a schema is that of the type, without characters that providers refuse.
func TestSchemaOf_names(t *testing.T) {
	type größe struct{ Size int }
	for want, of := range map[string]func() (*llmclient.Schema, error){
		"sized":  llmclient.SchemaOf[sized[[]sized[int]]],
		"gr__e":  llmclient.SchemaOf[größe],
		"answer": llmclient.SchemaOf[struct{ Size int }],
	} {
		schema, err := of()
		require.NoError(t, err)
		require.Equal(t, want, schema.Name)
	}
	schema, err := llmclient.SchemaOf[*sized[int]]()
	require.NoError(t, err)
	require.Equal(t, "sized", schema.Name)
}
