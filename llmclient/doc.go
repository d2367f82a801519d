// Package llmclient is the contract between the library and language models: [Request], [Response],
// the one-method [Client], errors by what a caller can do about them, and wrappers that retry, fall
// back and limit.
//
// It knows no provider. Clients of real servers are in openaichat; scripted ones for tests in
// scripted. A client of your own implements one method; see [Client] for what it promises, and
// llmclienttest for a test of that.
//
// [Retry], [Fallback] and [RateLimit] make a Client around others, and [Router] chooses among
// several; they nest in any order. What they do besides asking once is told live to the function of
// [WithNotify], and listed in Response.Attempts or Error.Attempts: what is listed there, and the
// outcome itself, are all requests that were made. An ability that a client has beyond Complete is
// found through them by [As].
package llmclient
