package segueotel

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	old "go.opentelemetry.io/otel/semconv/v1.36.0"
	latest "go.opentelemetry.io/otel/semconv/v1.40.0"
)

// The constants are the names of the conventions, which Go's own package has no more in its later
// versions.
func TestNames_areThoseOfTheConventions(t *testing.T) {
	for have, want := range map[attribute.Key][2]attribute.Key{
		keyOperation:     {old.GenAIOperationNameKey, latest.GenAIOperationNameKey},
		keyAgentName:     {old.GenAIAgentNameKey, latest.GenAIAgentNameKey},
		keyRequestModel:  {old.GenAIRequestModelKey, latest.GenAIRequestModelKey},
		keyResponseModel: {old.GenAIResponseModelKey, latest.GenAIResponseModelKey},
		keyResponseID:    {old.GenAIResponseIDKey, latest.GenAIResponseIDKey},
		keyFinishReasons: {old.GenAIResponseFinishReasonsKey, latest.GenAIResponseFinishReasonsKey},
		keyInputTokens:   {old.GenAIUsageInputTokensKey, latest.GenAIUsageInputTokensKey},
		keyOutputTokens:  {old.GenAIUsageOutputTokensKey, latest.GenAIUsageOutputTokensKey},
		keyTokenType:     {old.GenAITokenTypeKey, latest.GenAITokenTypeKey},
		keyToolName:      {old.GenAIToolNameKey, latest.GenAIToolNameKey},
		keyToolCallID:    {old.GenAIToolCallIDKey, latest.GenAIToolCallIDKey},
		keyToolType:      {old.GenAIToolTypeKey, latest.GenAIToolTypeKey},
		keyErrorType:     {old.ErrorTypeKey, latest.ErrorTypeKey},
	} {
		require.Equal(t, [2]attribute.Key{have, have}, want)
	}
	require.Equal(t, names{provider: old.GenAISystemKey}, namesOf136)
	require.Equal(t, names{
		provider: latest.GenAIProviderNameKey, input: latest.GenAIInputMessagesKey, output: latest.GenAIOutputMessagesKey,
		toolArguments: latest.GenAIToolCallArgumentsKey, toolResult: latest.GenAIToolCallResultKey,
	}, namesOf140)
	for have, want := range map[string]attribute.KeyValue{
		operationAgent: latest.GenAIOperationNameInvokeAgent, operationChat: latest.GenAIOperationNameChat, operationTool: latest.GenAIOperationNameExecuteTool,
	} {
		require.Equal(t, have, want.Value.AsString())
	}
}

// TestImports_apiAlone holds the package to the API: the SDK is for tests.
func TestImports_apiAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			require.NotContains(t, spec.Path.Value, "/sdk", name)
			require.NotContains(t, spec.Path.Value, "/exporters", name)
		}
	}
}
