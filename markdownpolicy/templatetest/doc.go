// Package templatetest compares what the policies of package markdownpolicy tell a model with what
// its chat template tells. It consists of tests, and is a module of its own, so that nobody else
// needs the engine that runs the templates.
//
// The templates in testdata were written for these tests: each says in a comment which published
// template it does the same as, and when that was read. They hold what concerns a conversation with
// calls, and no more. To run published templates, put them into a folder, name each after its
// format, with anything after an @ (glm.jinja, glm@4.6.jinja, deepseek-v3@vllm.jinja), and name the
// folder in the variable SEGUE_CHAT_TEMPLATES. docs/internal/chat-templates.md lists which ones
// were run, and with what result.
//
// For each format a conversation of three turns (a question, calls, results; the answer, another
// question; a call and its result) is rendered after each turn, by the template and by FormatQuery.
// To compare the two, the tests put the marks of turns around each message of FormatQuery, which a
// server's template adds, and change nothing else; then they must be equal, byte for byte. What the
// model wrote in between is parsed again, and must be the same calls. At last the messages of
// FormatQuery go through the template as text, as servers pass them, and must arrive word for word.
//
// Some differences from published templates are on purpose. They stand beside each format, and a
// test logs those that it met: the blanks by which vLLM and SGLang indent their templates, the line
// breaks between results that R1 lacks, the results that OpenAI's template for gpt-oss quotes as
// JSON. Not compared is what precedes the first question, which differs by the day, the model and
// the tools: names, dates, and the descriptions of tools.
//
// The engine does not know all of Jinja. A published template that it cannot run has to be adapted:
// an inline if in parentheses becomes a statement, and a list in a namespace that grows is replaced
// by what the template looks up in it.
package templatetest
