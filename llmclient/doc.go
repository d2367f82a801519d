// Package llmclient is the contract between the library and language models: [Request], [Response], the one-method
// [Client], errors by what a caller can do about them, and wrappers that retry, fall back and limit.
//
// It knows no provider. Clients of real servers are in openaichat; scripted ones for tests in scripted. A client of your
// own implements one method; see [Client] for what it promises.
package llmclient
