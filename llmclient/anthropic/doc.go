// Package anthropic is an [llmclient.Client] for the Messages API of Anthropic, and of servers that
// speak it.
//
//	// Key and address are in ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL.
//	client, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-5"})
//	resp, err := client.Complete(ctx, &llmclient.Request{
//		Messages: messages.History{messages.UserText("hello")},
//	}, nil)
//
// Requests are sent by anthropic-sdk-go, with its keys, base URL, transport, middleware and
// options. This package writes the body and reads the answer itself, in one pass. Besides Complete,
// a [Client] counts tokens ([Client.CountTokens]) and lists models ([Client.Models]), and tells the
// pieces of tool calls; see [llmclient.WithCallDeltas].
//
// What is sent:
//
//   - System messages at the beginning are the system prompt. One that comes later is sent in its
//     place, several in a row as one: only newer models take it, and only behind a message of the
//     user, as the last one or with a reply behind it.
//   - Thoughts, redacted thoughts, and blocks that this package does not know are parts
//     [messages.Thought] with extras named anthropic_…. They are sent back as they came, in their
//     place among the calls. Thoughts of other providers are not sent. Thoughts that the server
//     refuses, because something before them has changed, are left out from then on: the request is
//     made again at once without any thought, and the refused one is listed in Response.Attempts.
//   - A call of a tool that Anthropic runs is left out if it has no result and the conversation has
//     gone on.
//   - The results of parallel calls are one message, and come first in it. The result of a call
//     that failed, or whose effect is unknown, is an error. The output of a tool is sent as
//     [messages.ToolOutput.ForModel] returns it: untrusted output is put between marks.
//   - Arguments that are not a JSON object are sent as {"INVALID_JSON": …}. Ids of calls are
//     changed where the API does not take their characters, or where an earlier call had the same;
//     names of calls are, too, where they are no names of tools.
//   - Images are sent by address or in the request; documents too, as PDF, as text, or by the id of
//     a file. Image.Detail has no meaning here. Sound, and names of authors, are errors.
//   - Texts that are blank, messages with nothing in them, thoughts at the end of a reply, and
//     blanks at the end of a last reply are left out: the API refuses them. A call that failed and
//     said nothing has a sentence as its result, for the same reason.
//   - Cache of messages, parts and tools becomes cache_control; Cache of a [Config] is the
//     automatic one of the API.
//   - A Schema becomes output_config.format, and a strict tool is strict. The API always holds the
//     model to a schema, and refuses one with a keyword that it does not know.
//   - Request.Extras may have the fields thinking, cache_control and output_config instead of the
//     Config.
//
// How an answer is read:
//
//   - The body decides how an answer is read. Its content type, and whether a stream was requested,
//     do not. Pings, and events that this package does not know, are skipped.
//   - A stream that ends without a stop reason is [llmclient.CodeTruncated], unless the end of the
//     message came after whole blocks. A stream whose connection breaks is
//     [llmclient.CodeUnavailable]. After a stop reason neither is an error. An error object in a
//     stream, or in a whole answer of status 200, is an error by its type. All keep the received
//     part in Error.Partial.
//   - The stop reasons end_turn and stop_sequence are [llmclient.FinishStop]; max_tokens,
//     model_context_window_exceeded and pause_turn are [llmclient.FinishLength]; refusal is
//     [llmclient.FinishRefusal]. If the reply was cut, a call at its end is left out, because it
//     may not be complete; the result of a tool that Anthropic runs comes whole, and stays.
//     tool_use without a call is FinishStop, with [llmclient.NoticeNoCall], or without a text
//     [llmclient.CodeMalformedToolCall], after which strategies ask again.
//   - A refusal without a text has the provider's explanation as its text.
//   - Usage.Input includes what was read from the cache and written to it, which the API counts
//     apart.
//
// Bedrock, Vertex AI and Foundry are not supported: their streams have other forms.
//
// Sources: the API reference and the guides at platform.claude.com/docs (messages, errors,
// streaming, thinking, tool use, structured outputs, prompt caching, citations, PDF support), read
// in November 2026, and the types of anthropic-sdk-go v1.84.0.
package anthropic
