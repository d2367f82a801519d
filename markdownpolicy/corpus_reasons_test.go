package markdownpolicy_test

const corpusHead = `# How replies are read, compared with other projects

Other projects parse the same formats, and have test cases for them. This page counts the cases in which Segue gives the result
that the other project expects: the same calls (name, and arguments as JSON), and the same text beside them, except for blanks.
Where Segue deliberately differs, the reason is given below. A test writes this file and fails when it is out of date
(` + "`go test ./markdownpolicy -run CorpusCases -rewrite`" + `).

- **ollama-tooltext** are cases of Ollama's parsers. Hermes parses the templates "qwen", Qwen3-Coder, Qwen3-VL,
  GLM and Nemotron. Hermes with other marks parses DeepSeek and Cogito, LFM2, OLMo 3 and FunctionGemma. Mistral parses "mistral",
  "list" (an array without a mark) and Ministral. Llama parses "json". For parsers that begin within a thought, ThoughtsOpen
  is set; for those without thoughts, ThoughtsNone. If a case tests only a part of a parser, the surrounding marks are added.
  If the body of a call is not a call in any format, such as <tool_call>abc</tool_call>, it is replaced by a JSON call with
  that body as its argument, because the case tests where calls begin and end. If a case says what is shown before the end
  of a reply, that is compared with the result of Write. If they leave </think> as text after calls in a thought, it is not
  compared: here it is left out. Cases of the function that finds arguments in any text use FindObject
  if there is text before the arguments. Three cases were damaged in the corpus and are restored: two lacked the minus of an
  expected number, one a text that the original test computes.
- **vllm-tooltext** are cases of vLLM's parsers, parsed by Pythonic, Llama and Hermes. They compare only calls.
- **roo-xml** are cases of Roo Code, parsed by XML with its tools. They do not compare whether a part is complete.

The mode is "error", except for Ollama's parser by template, which repairs too: there the mode is "repair". If the other project
finds no call, an error without calls counts as agreement.

| source | cases | agreed | | not run |
|---|---|---|---|---|
`

const corpusReasonsHead = `
## Where we disagree

| case | why |
|---|---|
`

const corpusNotRunHead = `
## Cases that are not run

These cases hold no reply to parse. The last line of the table above counts them as disagreements.

| case | why |
|---|---|
`

// corpusReasons says why some cases are read differently from what the other project expects.
var corpusReasons = map[string]string{
	"ollama-tooltext cogito CogitoParser_StreamingEdgeCases 1":         "They read no calls if no tools were offered. Here the parser does not decide whether a call is allowed: a call of an unknown tool gets an error that the model sees.",
	"ollama-tooltext deepseek3 DeepSeek3Parser_parseToolCallContent 8": "They return a call without a name. A call must have a name; here this is an error with feedback.",
	"ollama-tooltext deepseek3 DeepSeekParser_EdgeCases 11":            "They lose two calls, and the text between them. Both calls are read here.",
	"ollama-tooltext glm46 GLM46ToolCallParsing 14":                    "They drop the first of two values of one key. Here the call is an error: nobody knows which the model means.",
	"ollama-tooltext lfm2 LFM2Parser_parseToolCallsContent 14":         "The argument is a string of Python: \\' in it is a quote, as Python says. They keep the backslash.",
	"ollama-tooltext lfm2 LFM2Parser_parseToolCallsContent 21":         "The argument is a string of Python: \\n in it is a line break, as Python says. They keep the backslash.",
	"ollama-tooltext parser ThinkingStreaming 1":                       "They accept thoughts only at the beginning of a reply. Thoughts between calls are common, and must not be shown to users.",
	"ollama-tooltext tools Content 4":                                  "They drop text behind a call. No text is lost here.",
	"ollama-tooltext tools Parser 13":                                  "Mode repair closes the brackets. Mode error finds no call, as they do.",
	"ollama-tooltext tools Parser 14":                                  "For Llama a reply that begins with a call of an unknown tool is a call, so that the model gets an error; they show the JSON to the user.",
	"ollama-tooltext tools Parser 15":                                  "Here a call after an object that is not a call is found. They stop searching.",
	"ollama-tooltext tools Parser 16":                                  "Here a call after an object that is not a call is found. They stop searching.",
	"roo-xml should handle a partial parameter in a tool use":          "The parameter is cut off, and the rest of it is unknown. Here that is an error, not a call with half a path. They show it as partial.",
	"vllm-tooltext hermes bare_string_arguments":                       "Arguments must be an object. Here a string that does not hold one is an error with feedback.",
	"vllm-tooltext pythonic bad_sibling_bytes":                         "They drop the call that they cannot read, and run the other. Here the list is an error: the model wrote both.",
	"vllm-tooltext pythonic unparsable_sibling":                        "They drop the call that they cannot read, and run the other. Here the list is an error: the model wrote both.",
}

// corpusNotRun says why cases are not run.
var corpusNotRun = map[string]string{
	"ollama-tooltext deepseek3 DeepSeekParser_HasThinkingSupport 0":     "It tests a property of their parser, and holds no reply.",
	"ollama-tooltext deepseek3 DeepSeekParser_HasThinkingSupport 1":     "It tests a property of their parser, and holds no reply.",
	"ollama-tooltext qwen3vl_thinking Qwen3VLThinkingParserStreaming 6": "It is empty.",
}
