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
//
// Where things are:
//
//   - policy.go: what a policy is, and the built-in ones by name.
//   - parser.go: what a parser gives, and the parser of all formats that set calls off by marks: a
//     format says where a mark stands (syntax) and how what begins there is read (block).
//     collector.go puts the parts in a row; error.go holds the errors.
//   - marks.go: marks that are fixed texts, such as tags, and calls that stand in the text without.
//   - format_*.go: a format each. fenced_block.go, xml_element.go and react_action.go read the
//     blocks of those that are large.
//   - call_json.go, call_block.go, call_body.go, arguments.go: calls as several formats write them,
//     as JSON, between two marks, in other forms, and with arguments as plain text.
//   - prompt.go: what a model is given, the instructions, past replies and results.
//   - chain.go, think.go and think_parser.go: policies made of others.
//   - internal/jsonscan: the one scanner of JSON. internal/jsonrepair mends it.
//   - internal/pyliteral: literals and calls of Python. internal/commonmark: code in Markdown.
//     internal/reactscan: keywords and sections of ReAct. internal/textscan: bytes, blanks, marks.
package markdownpolicy
