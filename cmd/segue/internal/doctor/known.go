package doctor

import "slices"

// Kind is a kind of finding.
type Kind struct {
	Name    string
	Rule    string // of docs/internal/scenarios.md; "" if none is about it
	Verdict Verdict
	Means   string // what is unusual or broken, in Markdown
	Advice  string // what segue does about it, or what to set; %s stands for what is measured
}

// Known returns every kind of finding, in the order of the checks.
func Known() []Kind { return slices.Clone(known) }

var known = []Kind{
	// server
	{"name_unknown", "", Broken, "no server has the name of the base URL", "check base_url, and the network"},
	{"refused", "", Broken, "nothing listens at the base URL", "check base_url: is the server started, and is the port right?"},
	{"tls", "", Broken, "the connection cannot be encrypted: the certificate, or no HTTPS at all", "%s"},
	{"unreachable", "", Broken, "the connection fails for another reason", "check base_url, and the network"},
	{"silent", "", Broken, "no answer, or no next piece of it, within `--timeout`", "is the model being loaded? Then give it longer with --timeout"},
	{"redirect", "", Set, "the server redirects, on the same server", "%s"},
	{"redirect_away", "", Broken, "the server redirects to where no redirect is followed: another server, or in a circle; or the redirect leads to no answer", "%s"},
	{"wrong_path", "", Broken, "there is a server, but no API at this path, such as without `/v1`", "%s"},
	{"server_error", "", Broken, "the server answers with an error of its own", "try again later, or look at the server's log"},
	{"rate_limited", "W-13", Broken, "the server refuses because of too many requests, and asks to wait for longer than ten seconds", "limits: {requests_per_minute: N}, with the N of your account"},
	{"unencrypted", "", Set, "a key is sent over a network by HTTP", "base_url: https://… if the server has it: the key can be read on the way"},

	// key
	{"key_missing", "W-13", Broken, "the server wants a key, and none is sent", "%s"},
	{"key_refused", "W-13", Broken, "the server refuses the key", "put the right key into %s"},
	{"forbidden", "W-13", Broken, "the server refuses with status 403, and does not say that it is because of the key", "the key may be right: look at what the account may do, at the region, and at firewalls on the way; else put the right key into %s"},
	{"no_credit", "W-13", Broken, "the account has no credit left", "check the credit of the account"},

	// model
	{"no_list", "", Copes, "there is no list of models", "segue does not need it; segue models cannot show any"},
	{"model_not_listed", "", Copes, "the model answers, but is not in the list", "nothing needs it there"},
	{"model_missing", "W-13", Broken, "the server does not have the model", "%s"},
	{"model_ignored", "W-13", Copes, "a model that is not there answers", "nothing: but a typing error in model is not noticed"},
	{"error_in_answer", "W-7", Copes, "an error comes with status 200", "segue reads it as an error"},
	{"error_form", "W-13", Copes, "an error has another form than OpenAI's", "segue reads this form too"},
	{"error_status", "W-13", Set, "a wrong request gets the status of a passing failure", "limits: {retries: 1}: segue repeats such requests in vain"},

	// reply
	{"request_refused", "", Broken, "a simple question is refused", "%s"},
	{"not_readable", "", Broken, "the answer is neither JSON nor an event stream of the API", "is base_url the one of an API of Chat Completions, or of the one that api names?"},
	{"empty_reply", "", Broken, "the answer to a simple question is empty", "take another model"},
	{"system_refused", "", Set, "system prompts are refused", "no system and no policy, which needs it: say in the task what matters"},
	{"system_ignored", "", Set, "the model does not heed the system prompt", "say in the task what matters: system is not heeded"},
	{"no_usage", "", Set, "a whole answer does not say how many tokens it took", "limits: {model_calls: N}: segue estimates tokens and cost here"},
	{"wrong_type", "W-8", Copes, "the content type is not that of the content", "segue looks at the content"},
	{"several_choices", "W-12", Copes, "there is more than one choice", "segue takes the first"},
	{"withheld", "W-12", Set, "a simple answer is withheld by a filter, or refused", "take another model, or another filter in the account"},
	{"content_list", "W-9", Copes, "the text comes as a list of parts", "segue joins the parts"},
	{"empty_tool_calls", "W-9", Copes, "`tool_calls` is `[]` in replies of text", "segue sees no call in it"},
	{"thoughts_in_text", "W-11", Set, "thoughts stand in the text, as `<think>…</think>`", "have the server keep them apart (vLLM: --reasoning-parser; llama.cpp: --reasoning-format), or set a policy"},

	// streaming
	{"stream_refused", "", Broken, "streams are refused", "%s"},
	{"no_stream", "", Copes, "the answer comes as a whole, although a stream was asked for", "segue shows the answer when it is whole"},
	{"one_piece", "", Copes, "the whole text comes in one piece of the stream", "segue shows the answer when it is whole"},
	{"slow", "", Set, "the server is silent for more than 30 seconds", "limits: {idle_timeout: 10m} if it thinks for longer than the two minutes that segue waits"},
	{"no_stream_usage", "", Set, "a stream does not say how many tokens it took", "limits: {model_calls: N}: segue estimates tokens and cost here"},
	{"usage_twice", "W-3", Copes, "usage comes more than once", "segue takes the last"},
	{"finish_twice", "W-3", Copes, "the finish reason comes more than once", "segue takes the last"},
	{"finish_unknown", "", Copes, "the finish reason is none of Chat Completions", "segue judges by the content"},
	{"no_finish", "W-2", Copes, "there is no finish reason", "segue judges by the content"},
	{"empty_chunk", "W-5", Copes, "an event has neither a choice nor usage", "segue skips it"},
	{"comments", "W-6", Copes, "there are comments between the events", "segue skips them; they end a silence"},
	{"crlf", "W-6", Copes, "lines end with CR LF", "segue reads both line ends"},
	{"no_done", "W-6", Copes, "the stream ends without `[DONE]`", "the finish reason is enough for segue"},
	{"stays_open", "W-6", Set, "the connection stays open after the finish reason, without `[DONE]`", "limits: {idle_timeout: 10s}: segue waits that long for the end of each answer"},
	{"stream_cut", "W-6", Broken, "the stream breaks off", "look at the server's log, and at proxies that end long answers"},
	{"stream_unread", "", Broken, "the stream is none of the API: an event is no JSON, or lines are no events", "take another server, or another version of it: segue asks for streams"},
	{"error_in_stream", "W-7", Broken, "an error comes in a stream", "look at the server's log"},

	// tools
	{"no_tools", "", Set, "tools are refused, or not used", "%s"},
	{"calls_as_text", "", Set, "calls stand in the text as the model wrote them", "policy: %s, or have the server read them (vLLM: --tool-call-parser; llama.cpp: --jinja)"},
	{"failed_generation", "W-15", Copes, "the provider could not read the call that the model wrote", "segue tells the model, and asks again; if it comes often, set a policy"},
	{"bad_arguments", "", Set, "the arguments of a call are not those that the tool needs", "take another model, or set a policy"},
	{"merged_calls", "", Set, "two calls come as one, with their arguments behind each other", "%s, or another server or version of it"},
	{"one_call", "", Copes, "one call in a reply where two were asked for", "the run takes more requests"},
	{"finish_stop", "W-1", Copes, "the finish reason beside calls is `stop` or empty", "segue looks at the calls"},
	{"call_twice", "W-2", Copes, "a call comes twice, with the same id", "segue makes it once"},
	{"index_missing", "W-4", Copes, "pieces of calls have no index", "segue goes by id and order"},
	{"index_repeated", "W-4", Copes, "calls of one reply have the same index", "segue goes by id and name"},
	{"index_from_one", "W-4", Copes, "the index of calls begins with 1", "segue goes by what differs"},
	{"empty_id_later", "W-4", Copes, "later pieces of a call have an empty id", "segue keeps the first"},
	{"empty_name_later", "W-4", Copes, "later pieces of a call have an empty name", "segue keeps the first"},
	{"no_arguments", "W-4", Copes, "the arguments of a tool without any are empty, null or missing", "segue makes them {}"},
	{"empty_content", "W-9", Copes, "the content beside calls is an empty text, and not null", "segue sends null back, as OpenAI does"},
	{"no_call_id", "W-10", Copes, "calls have no id", "segue makes one"},
	{"repeated_ids", "S4-23", Copes, "calls of different replies have the same ids", "segue keeps the calls of each step apart"},
	{"function_call", "W-16", Copes, "a call comes in the old field `function_call`", "segue reads it as a tool call"},
	{"empty_function_call", "W-16", Copes, "there is an empty `function_call` beside the reply", "segue ignores it"},

	// results
	{"results_refused", "W-17", Set, "the conversation with the results is refused", "policy: %s: results then go as text"},
	{"results_ignored", "", Set, "the answer does not say what the result says", "take another model, or set a policy"},

	// forced choice
	{"choice_refused", "", Copes, "a forced call is refused, with the name of the field", "segue asks again without it"},
	{"choice_failed", "", Set, "a forced call fails, without a word of the choice", "not strategy: tool-first or react: they force a call"},
	{"choice_ignored", "", Set, "the model answers without the call that it has to make", "not strategy: tool-first, and react with care: they force a call"},

	// structured output
	{"schema_refused", "", Copes, "the response format is refused, with the name of the field", "segue offers a tool for the answer instead"},
	{"schema_failed", "", Set, "a request with a response format fails, without a word of it", "config: {answer: tool} in an agent that answers by a schema"},
	{"schema_ignored", "", Set, "the answer is not JSON of the schema", "config: {answer: tool} in an agent that answers by a schema"},
	{"schema_fenced", "", Copes, "the JSON stands in a fenced block", "segue takes the fence away"},

	// text tools
	{"policy_unread", "", Set, "the policy that is set, or the default one, does not read what the model writes", "%s"},
	{"no_policy", "", Broken, "neither tool calls of the server nor any text format works", "take another model for work with tools"},
}

// kindOf returns the kind with that name.
func kindOf(name string) Kind {
	i := slices.IndexFunc(known, func(k Kind) bool { return k.Name == name })
	return known[i]
}
