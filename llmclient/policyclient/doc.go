// Package policyclient has a model client that needs no native tool calls: a
// [markdownpolicy.Policy] tells the model how to write thoughts and calls as text, reads its
// replies, and renders past turns. Whoever asks notices nothing.
//
// # What is sent
//
// The instructions of the policy stand once, behind the text of a system message that comes first,
// or in a new one. All other messages are what Policy.FormatQuery makes of them. Tools are not
// sent, nor is a choice of tools or a schema: a server that forces JSON leaves a model no room for
// calls as text. Both are said in words instead ([Prompts]), so an answer of a schema must be
// checked by whoever asked for it. The stop sequences of a policy that has some are added.
//
// A request with llmclient.ToolsText is handed on as it is: whoever made it describes its tools and
// reads the replies.
//
// # What comes back
//
// The reply has the parts that the policy found. The ids of calls are made here, the same for the
// same request and reply, and unlike any in the conversation so far. Thoughts and calls that the
// server tells apart from the text stay where they stood. Text and thoughts are streamed as soon as
// they cannot be part of a call any more; a call is never streamed.
//
// A reply that cannot be read is sent back with what was wrong, up to Config.MaxRepairs times. Each
// is told as llmclient.NoticeRepair, which voids what was streamed of it, and is listed in
// Response.Attempts with its usage. The last one is an [*llmclient.Error] with
// CodeMalformedToolCall that wraps the [*markdownpolicy.ParseError]; its Partial holds what was
// read, its Generated the whole text.
//
// There is nothing to send back where no tools were offered or none may be called, or where the
// model refused or its reply was withheld: then what looks like a call is text, as it was written,
// and so is what cannot be read. Of a reply that was cut off at the token limit, or by an error, a
// call whose end mark had not come (markdownpolicy.Part.Open) is text too, also where the policy
// could mend it; llmclient.FinishLength or the error says that it was cut.
package policyclient
