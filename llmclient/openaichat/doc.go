// Package openaichat is an [llmclient.Client] for the Chat Completions API of OpenAI and of every
// compatible server.
//
//	// Key and address are in OPENAI_API_KEY, OPENAI_BASE_URL.
//	client, err := openaichat.New(openaichat.Config{Model: "gpt-5-mini"})
//	resp, err := client.Complete(ctx, &llmclient.Request{
//		Messages: messages.History{messages.UserText("hello")},
//	}, nil)
//
// Requests are sent by openai-go, with its keys, base URL, transport, middleware and options. This
// package writes the body and reads the answer itself, in one pass and without reflection.
// Compatible servers differ from OpenAI; the differences must not lose text, merge calls, or make a
// failure look like success. The rules are:
//
//   - The body decides how an answer is read. Its content type, and whether a stream was requested,
//     do not.
//
//   - In an event stream, any line ends, comments and several data lines are accepted. The last
//     event needs no blank line, and [DONE] may be missing.
//
//   - A stream that ends with neither a finish reason nor [DONE] is [llmclient.CodeTruncated],
//     unless it holds complete tool calls and the server has said by its length or its chunks that
//     it ends there. A stream whose connection breaks is [llmclient.CodeUnavailable]. Both keep the
//     received part in Error.Partial. After a finish reason neither is an error.
//
//   - A tool call begins with a new id, a new index, or the repetition of a complete call, but with
//     no piece without a name before it is complete; its first id counts. Its name is set once,
//     or grows by pieces until it is that of an offered tool; ids of chunks are ignored. A call
//     sent twice is one call. A call without an id gets one that differs from those of the
//     conversation. Missing or null arguments are {}, or an error if arguments came that belong to
//     no call. function_call is read as a tool call.
//
//   - Text that a stream has behind a complete call stands behind it in the message, as a paragraph
//     of its own unless there is a blank anyway. Other calls stand behind the text.
//
//   - If the reply was cut (length, content_filter, or an error), a last call with incomplete
//     arguments is left out.
//
//   - The last usage sent counts. Reasoning tokens that a server counts apart from the output are
//     added to it.
//
//   - The first of several choices is read. An answer without a choice is an error, and so is an
//     error object in a 200 answer.
//
//   - A missing or unknown finish reason is derived from the content: tool calls, or else stop.
//     tool_calls without calls is stop, with [llmclient.NoticeNoCall], or without a text
//     [llmclient.CodeMalformedToolCall], after which strategies ask again.
//
//   - reasoning_content, reasoning, reasoning_details and thinking parts become [messages.Thought].
//     The fields are kept in Assistant.Extras and sent back only to servers that want them; see
//     [Reasoning]. <think> in a text stays in it.
//
//   - A refusal becomes text, with [llmclient.FinishRefusal].
//
//   - Annotations of a message, and the lists citations and search_results beside it (Perplexity,
//     xAI), become the Citations of its texts, with their places in bytes. A reply without text has
//     none.
//
// Names of authors, cache marks (cache_control), files, sound, and images in the results of tools
// are sent if they are set. A text with a cache mark is sent as a list of parts. What the server is
// known to refuse of these is a [llmclient.CodeBadRequest] that names the message and says what to
// do, and nothing is sent: OpenAI and Azure take no cache marks, no files by https URL, and no
// images from tools; Groq no cache marks, names, files and sound; Mistral no cache marks and names,
// and gets files and sound in its own form; DeepSeek no images, files and sound; Anthropic's layer
// for this API none of all that, nor strict tools and schemas, which it would leave out without a
// word. See Config.SendRefused.
//
// Calls of the conversation have names and arguments that servers take, whatever the model wrote:
// other characters of a name than letters, digits, "_" and "-" become "_", and arguments that are
// not a JSON object are put into one, as {"INVALID_JSON": …}; OpenAI and Azure are sent any
// arguments. They get ids of at most 40 bytes. Mistral gets ids in its own form, and a reply "OK."
// between the results of tools and a message of the user, which it wants there.
//
// The output of a tool is sent as [messages.ToolOutput.ForModel] returns it: untrusted output is
// put between marks.
//
// Sources: the API reference at platform.openai.com/docs/api-reference/chat, the event stream
// format of the WHATWG HTML standard (section 9.2, server-sent events), and recorded traffic of
// about twenty servers.
package openaichat
