package segueotel

import (
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// The environment variable that chooses the version of the conventions, and its value for the
// newer one.
const (
	optInVariable = "OTEL_SEMCONV_STABILITY_OPT_IN"
	optInLatest   = "gen_ai_latest_experimental"
)

// What the conventions name, in both versions.
const (
	keyOperation     = attribute.Key("gen_ai.operation.name")
	keyAgentName     = attribute.Key("gen_ai.agent.name")
	keyRequestModel  = attribute.Key("gen_ai.request.model")
	keyResponseModel = attribute.Key("gen_ai.response.model")
	keyResponseID    = attribute.Key("gen_ai.response.id")
	keyFinishReasons = attribute.Key("gen_ai.response.finish_reasons")
	keyInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	keyTokenType     = attribute.Key("gen_ai.token.type")
	keyToolName      = attribute.Key("gen_ai.tool.name")
	keyToolCallID    = attribute.Key("gen_ai.tool.call.id")
	keyToolType      = attribute.Key("gen_ai.tool.type")
	keyErrorType     = attribute.Key("error.type")

	operationAgent = "invoke_agent"
	operationChat  = "chat"
	operationTool  = "execute_tool"

	metricDuration = "gen_ai.client.operation.duration"
	metricTokens   = "gen_ai.client.token.usage"
)

// What only this library has.
const (
	keyRun       = attribute.Key("segue.run.id")
	keyNamespace = attribute.Key("segue.run.namespace")
	keyFrame     = attribute.Key("segue.frame")
	keyEffect    = attribute.Key("segue.effect")
	keyResumed   = attribute.Key("segue.resumed")
	keyStatus    = attribute.Key("segue.status")
	keySuspended = attribute.Key("segue.suspended")
	keyKind      = attribute.Key("segue.kind")
	keyStoreOp   = attribute.Key("segue.store.operation")
)

// names are those that differ between the versions. An empty one is left out.
type names struct {
	provider                  attribute.Key
	input, output             attribute.Key
	toolArguments, toolResult attribute.Key
}

var (
	namesOf136 = names{provider: "gen_ai.system"}
	namesOf140 = names{
		provider: "gen_ai.provider.name", input: "gen_ai.input.messages", output: "gen_ai.output.messages",
		toolArguments: "gen_ai.tool.call.arguments", toolResult: "gen_ai.tool.call.result",
	}
)

// chosenNames returns the names that the environment asks for.
func chosenNames() names {
	for choice := range strings.SplitSeq(os.Getenv(optInVariable), ",") {
		if strings.TrimSpace(choice) == optInLatest {
			return namesOf140
		}
	}
	return namesOf136
}
