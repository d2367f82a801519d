// Package markdownpolicy lets any model that writes text use tools. A [Policy] defines how a model
// is told to write its calls, how a reply is parsed, and how past turns are rendered for the model.
// Tests ensure that the three agree.
//
// The built-in policies are [Fenced] (the default), [XML], [ReAct], and the text formats that open
// models were trained on: [Hermes], [Llama], [Pythonic], [Mistral], [GLM], [Kimi], [DeepSeek],
// [Harmony] (gpt-oss), [Gemma], [MiniMax], [Gemma4], [DeepSeekV32]. [ForModel] finds the one of a
// model. All but ReAct are of the type [Format]. [Structured] is for servers that hold a reply to a
// JSON Schema. [Chain] tries several policies and uses the one that matches first. [Think]
// separates a model's thoughts, between <think> tags, from the reply, and works with each of the
// others.
//
// Every policy obeys these laws:
//
//   - Rendering with [Renderer.Render] and parsing with ParseResponse gives the same parts,
//     whatever they contain.
//   - Every example in the instructions parses to what it shows.
//   - No byte of a reply is lost or doubled, except blanks around a part.
//   - A reply that arrives in pieces gives the same parts, wherever it is cut.
//   - Any input is read in linear time, without a panic.
//
// Everything here is pure and safe for concurrent use. A [Parser] is for one reply.
//
// The files:
//
//   - policy.go: the Policy interface, the built-in policies by name, and which model knows which
//     format.
//   - parser.go: the result of a parser, its errors, and the parser of all formats that use marks.
//     A format says where a mark is (syntax) and how the text after the mark is read (block). A
//     collector arranges the parts.
//   - marks.go: marks that are fixed texts, such as tags, and calls without marks.
//   - format.go: the type of the formats, and those that are marks and what is between them, a row
//     each. format_deepseek.go: the rows of DeepSeek and MiniMax.
//   - format_*.go: one other format each.
//   - call_json.go, call_block.go, call_function.go, call_named.go, arguments.go: calls as several
//     formats write them: as JSON and in other forms, between two marks, as <function=name>, as a
//     name and its arguments, with marks or without, and with arguments as plain text, which may
//     contain marks.
//   - telling.go: what a model receives: the instructions, past replies and results; and these as
//     chat templates write them.
//   - left.go: calls of any format that a server left at the end of a text.
//   - chain.go, think.go: policies made from other policies; and the thoughts of formats, also
//     without a beginning or an end.
//   - internal/jsonscan: the only scanner of JSON. internal/jsonrepair repairs JSON.
//   - internal/pyliteral: Python literals and calls. internal/commonmark: code in Markdown.
//     internal/reactscan: keywords and sections of ReAct. internal/textscan: bytes, blanks, marks.
package markdownpolicy
