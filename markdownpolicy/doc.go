// Package markdownpolicy lets any model that writes text use tools. A [Policy] says how a model is
// told to write its calls, how a reply is read, and how past turns are rendered for it: the three
// agree with each other, which is a law with tests.
//
// Built in are [Fenced] (the default), [XML], [ReAct], and the text formats that open models were
// trained on: [Hermes], [Llama], [Pythonic], [Mistral]. [Chain] reads whichever of several comes
// first; [Think] takes a model's thoughts between <think> tags out of any of them.
//
// Laws, for every policy:
//
//   - ParseResponse of what [Renderer.Render] wrote gives the same parts, whatever stands in them.
//   - Every example in the instructions parses to what it shows.
//   - No byte of a reply is lost or doubled, blanks around a part aside.
//   - A reply that arrives in pieces gives the same parts, however it is cut.
//   - Any bytes are read in linear time, without a panic.
//
// Everything here is pure and safe for concurrent use; a [Parser] is for one reply.
package markdownpolicy
