// Package openaichat is an [llmclient.Client] for Chat Completions: OpenAI's own and that of every
// server that speaks it.
//
//	client, err := openaichat.New(openaichat.Config{Model: "gpt-5-mini"}) // key and address from OPENAI_API_KEY, OPENAI_BASE_URL
//	resp, err := client.Complete(ctx, &llmclient.Request{Messages: messages.History{messages.UserText("hello")}}, nil)
//
// The request travels through openai-go: its keys, base URL, transport, middleware and options. The
// body is written and the answer is read here, in one pass and without reflection, because
// compatible servers differ from OpenAI in ways that must not lose text, join calls or pass for
// success:
//
//   - The body decides how an answer is read, not its content type and not whether a stream was asked for.
//   - Of an event stream, any line ends, comments and several data lines are read, the last event needs no blank line,
//     and [DONE] may be missing.
//   - A stream that ends with neither a finish reason nor [DONE] is [llmclient.CodeTruncated], unless it holds tool calls
//     that are complete. One whose connection breaks is [llmclient.CodeUnavailable]. Both keep what came in Error.Partial.
//     Once a finish reason has come, neither harms.
//   - A tool call begins with a new id, a new index, or the repetition of one that is complete; a name is set once; ids
//     of chunks are ignored. A call sent twice is one call. A call without an id is given one, unlike those of the
//     conversation. Arguments that are missing or null are {}. function_call is read as a tool call.
//   - Where the reply was cut (length, content_filter, or an error), a last call whose arguments are not whole is left out.
//   - Usage is the last one sent. Reasoning tokens that a server counts beside the output are added to it.
//   - Of several choices the first is read. No choice at all is an error, and so is an error object in a 200 answer.
//   - Finish reasons that are missing or unknown are judged by what came: calls, or else stop. tool_calls without calls
//     is an error.
//   - reasoning_content, reasoning, reasoning_details and thinking parts become [messages.Thought]. The fields are kept
//     in Assistant.Extras and go back only where the server wants them; see [Reasoning]. <think> in a text stays there.
//   - A refusal becomes text, with [llmclient.FinishRefusal].
//
// Of a tool's output the server gets what [messages.ToolOutput.ForModel] makes of it: one that is
// untrusted is fenced.
//
// Sources: the API reference at platform.openai.com/docs/api-reference/chat, the event stream
// format of the WHATWG HTML standard (section 9.2, server-sent events), and recorded traffic of
// some twenty servers.
package openaichat
