// Package policyclient makes a client that supports tool calls from one that does not. A
// [markdownpolicy.Policy] tells the model how to write thoughts and calls as text, reads its
// replies, and renders past turns. The caller of the client sees no difference.
//
// # What is sent
//
// The instructions of the policy are sent once: after the text of the first message if that is a
// system message, or else in a new system message. All other messages are those of
// Policy.FormatQuery. Tools are not sent. Neither is a choice of tools or a schema, because a
// server that forces JSON leaves a model no room for calls as text. Both are described in words
// instead ([Prompts]), so the caller must check an answer against its schema. The stop sequences of
// the policy, if any, are added, and one for the mark of its results, unless the client is a
// [llmclient.StopTaker] that takes none.
//
// For a markdownpolicy.Schemer a schema of the whole reply is sent, in which the choice of tools
// and the schema of the answer are branches. If the server refuses it, the server is asked with a
// simpler one and then without, and is asked so from then on for this model. The refusals are
// listed in Response.Attempts. Without tools such a policy only tells the past: the request is
// passed on with its schema, and the reply is not read.
//
// A request with llmclient.ToolsText is passed on unchanged: its caller describes the tools and
// reads the replies.
//
// # What is returned
//
// The reply has the parts that the policy found. Calls get ids that are the same for the same
// request and reply, and differ from all ids in the conversation so far. Thoughts and calls that
// the server separates from the text keep their places. Text and thoughts are streamed as soon as
// they can no longer be part of a call. A call is never streamed.
//
// Thoughts that the server separates from the text are read as the policy reads them between
// <think> and </think>, if it reads such thoughts, and the reply has nothing else. So a call at
// their end is made by the formats that make it there. They are streamed as they come, with it.
// Thoughts that hold </think> are not read: what stands behind it would be text.
//
// An unreadable reply is sent back with a description of the problem, up to Config.MaxRepairs
// times. Each is reported as llmclient.NoticeRepair, which voids what was streamed of it, and is
// listed in Response.Attempts with its usage. If the last one is unreadable too, the error is an
// [*llmclient.Error] with CodeMalformedToolCall that wraps the [*markdownpolicy.ParseError]. Its
// Partial holds what was read, its Generated the whole text.
//
// Results are given to the model, and never written by it. A line that begins with the mark of a
// result ends the reply if a call precedes it; if nothing does, the reply is unreadable.
//
// In some cases nothing is sent back, and calls and unreadable text stay text, as written: if no
// tools were offered, if none may be called, if the model refused, or if its reply was withheld. If
// a reply was cut off, at the token limit or by an error, a call without its end mark, or in a
// thought without one (markdownpolicy.Part.Open), is text too, even if the policy could repair it.
// llmclient.FinishLength or the error then says that the reply was cut.
package policyclient
