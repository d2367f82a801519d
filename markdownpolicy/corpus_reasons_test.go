package markdownpolicy_test

const corpusHead = `# How replies are read, compared with other projects

Other projects read the same formats, and their test cases say how. This table says how often Segue reads those cases as they
expect: the same calls (name, and arguments as JSON), and the same text beside them, blanks aside. Their expectation is one
opinion. Where Segue does otherwise, the reason stands below. A test writes this file and fails when it is out of date
(` + "`go test ./markdownpolicy -run CorpusCases -rewrite`" + `).

- **ollama-tooltext** are cases of Ollama's parsers. Templates "qwen", Qwen3-Coder, Qwen3-VL, GLM and Nemotron are read by
  Hermes; DeepSeek and Cogito, LFM2, OLMo 3 and FunctionGemma by Hermes with their Dialect; "mistral", "list" (an array without a mark) and
  Ministral by Mistral; "json" by Llama. Parsers that begin within a thought are read with ThoughtsOpen, those without thoughts
  with ThoughtsNone. Cases of a part of a parser get the marks that stand around it. Where a case has a body that is a call in no format, such as
  <tool_call>abc</tool_call>, a JSON call with that body as its argument stands in for it: what is tested is where calls begin and end.
  Cases that say what is shown before the end are compared with what Write returned. Cases of the function that finds arguments
  in any text are read with FindObject where there is text before them. Three cases of which the corpus lost something have
  it again: two the minus of a number that is expected, one a text that their test computes.
- **vllm-tooltext** are cases of vLLM's parsers, read by Pythonic, Llama and Hermes. They compare calls only.
- **roo-xml** are cases of Roo Code, read by XML with its tools. Whether a part is complete is not compared.

The mode is "error", but "repair" for Ollama's parser by template, which mends as well. A case in which the other project finds
no call agrees with an error that finds none.

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

There is nothing in them to read. The last line of the table above counts them as disagreements.

| case | why |
|---|---|
`

// corpusReasons says why some cases are read differently from what the other project expects.
var corpusReasons = map[string]string{
	"ollama-tooltext cogito CogitoParser_StreamingEdgeCases 1":         "They read no calls where no tools were offered. Whether a call is allowed is not for the parser to say: a call of an unknown tool is answered with an error that the model sees.",
	"ollama-tooltext deepseek3 DeepSeek3Parser_parseToolCallContent 8": "They return a call without a name. A call has a name; this is an error with feedback.",
	"ollama-tooltext deepseek3 DeepSeekParser_EdgeCases 11":            "They lose two calls, and the text between them. Both calls are read here.",
	"ollama-tooltext glm46 GLM46ToolCallParsing 14":                    "They drop the first of two values of one key. Here the call is an error: nobody knows which the model means.",
	"ollama-tooltext lfm2 LFM2Parser_parseToolCallsContent 14":         "The argument is a string of Python: \\' in it is a quote, as Python says. They keep the backslash.",
	"ollama-tooltext lfm2 LFM2Parser_parseToolCallsContent 21":         "The argument is a string of Python: \\n in it is a line break, as Python says. They keep the backslash.",
	"ollama-tooltext parser ThinkingStreaming 1":                       "They take thoughts at the beginning of a reply only. Thoughts between calls are common, and must not be shown to users.",
	"ollama-tooltext tools Content 4":                                  "They drop text behind a call. No text is lost here.",
	"ollama-tooltext tools Parser 13":                                  "Mode repair closes the brackets. Mode error finds no call, as they do.",
	"ollama-tooltext tools Parser 14":                                  "A reply that begins with a call of an unknown tool is a call for Llama, so that the model is told; they show the JSON to the user.",
	"ollama-tooltext tools Parser 15":                                  "An object that is no call does not hide the call behind it. They stop looking.",
	"ollama-tooltext tools Parser 16":                                  "An object that is no call does not hide the call behind it. They stop looking.",
	"roo-xml should handle a partial parameter in a tool use":          "The parameter is cut off, and what is missing of it is not known: an error rather than a call with half a path. They show it as partial.",
	"vllm-tooltext hermes bare_string_arguments":                       "Arguments are an object. A string that holds none is an error with feedback.",
	"vllm-tooltext pythonic bad_sibling_bytes":                         "They drop the call that they cannot read, and run the other. Here the list is an error: the model wrote both.",
	"vllm-tooltext pythonic unparsable_sibling":                        "They drop the call that they cannot read, and run the other. Here the list is an error: the model wrote both.",
}

// corpusNotRun says why cases are not run.
var corpusNotRun = map[string]string{
	"ollama-tooltext deepseek3 DeepSeekParser_HasThinkingSupport 0":     "It asks their parser for a property. There is no reply in it.",
	"ollama-tooltext deepseek3 DeepSeekParser_HasThinkingSupport 1":     "It asks their parser for a property. There is no reply in it.",
	"ollama-tooltext qwen3vl_thinking Qwen3VLThinkingParserStreaming 6": "It is empty.",
}
