// Package openairesponses is an [llmclient.Client] for the Responses API of OpenAI, and of servers
// that speak it.
//
//	// Key and address are in OPENAI_API_KEY, OPENAI_BASE_URL.
//	client, err := openairesponses.New(openairesponses.Config{Model: "gpt-5-mini"})
//	resp, err := client.Complete(ctx, &llmclient.Request{
//		Messages: messages.History{messages.UserText("hello")},
//	}, nil)
//
// Unlike Chat Completions, this API gives the reasoning of a model back in an encrypted form, so
// that the model need not reason again after each tool call. The client is stateless: the server
// keeps nothing ("store": false), and each request has the whole conversation. Use openaichat for
// servers that speak Chat Completions only, and where stop sequences or sound are needed.
//
// Requests are sent by openai-go, as those of openaichat are: with the same keys, variables, base
// URL, limits, retries and errors. This package writes the body and reads the answer itself. The
// rules are:
//
//   - A system message is an item of the input with the role system, wherever it stands, and so
//     every request of a conversation begins with the last one.
//   - A reply goes back as the items that it came in. A reasoning item becomes a
//     [messages.Thought] with the summary as its text and the item in Extras ("openai_reasoning");
//     it is sent back byte for byte, streamed or not, where it stood; after a journal, whose JSON
//     has no white space between values, without such white space. Only reasoning with nothing
//     behind it, and such without its content, is left out, because the API refuses it.
//   - Models that do not reason refuse to be asked for encrypted reasoning. The request is then
//     made once more without it, at once, and so are all later ones to that model. Reasoning that
//     another server has encrypted is left out in the same way: the client remembers the items that
//     were refused and leaves out those, but not what came later. Each refused request is listed in
//     Response.Attempts or Error.Attempts.
//   - Messages of one reply are paragraphs of its text: where the model writes no blank between
//     them, an empty line is put before the later one ("openai_breaks"). It is not sent back.
//   - Items of other kinds, such as a search of the provider's, become a Thought without a text
//     ("openai_item"), and are sent back, too. "openai_call" in the Extras of a call, and
//     "openai_phases" in those of the message, are what messages have no field for.
//   - Tools are sent with strict as their definition says it; the API's own default is true.
//     Request.Extras may have "tools" that the provider runs, such as web_search, and "text",
//     "reasoning" and "include": they are joined with what the client writes. Other extras are
//     sent unchanged, except those that make the server keep something.
//   - What the API does not take is an error before the request is sent: stop sequences, sound,
//     names of authors, and cache marks on replies and tools. [messages.Cache5m] is a cache
//     breakpoint with the API's shortest lifetime (half an hour), [messages.Cache1h] one with
//     twelve hours; only newer models take either.
//   - The body decides how an answer is read. Its content type, and whether a stream was requested,
//     do not.
//   - A stream is a reply only if the event that ends the response came, or [DONE] after whole
//     items. Otherwise it is [llmclient.CodeTruncated] or, if the connection broke,
//     [llmclient.CodeUnavailable]; both keep the received part in Error.Partial.
//   - Pieces belong to the item with their index, or else with their id. Several events have the
//     same text, or the same arguments; any one of them is enough, and the longest counts. Texts
//     that differ in more than blanks at their ends, and arguments that are other JSON, are
//     [llmclient.CodeBadResponse].
//   - A response that is incomplete has [llmclient.FinishLength], or
//     [llmclient.FinishContentFilter]; a call at its end with incomplete arguments is left out. One
//     that failed, and an error event, are errors by what the caller can do.
//   - A refusal becomes text, with [llmclient.FinishRefusal]. Annotations become
//     [messages.Citation], with places in bytes.
//
// The output of a tool is sent as [messages.ToolOutput.ForModel] returns it: untrusted output is
// put between marks.
//
// Sources: the API reference at developers.openai.com/api/reference, its guides on streaming,
// function calling, reasoning, conversation state, prompt caching, images and files, and the types
// of openai-go v3.95, as of November 2026.
package openairesponses
