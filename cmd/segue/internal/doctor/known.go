package doctor

import "slices"

// Kind is a kind of finding.
type Kind struct {
	Name    string
	Rule    string // of docs/scenarios.md; "" if none is about it
	Verdict Verdict
	Advice  string // what segue does about it, or what to set; %s stands for what is measured
}

// Known returns every kind of finding, in the order of the checks.
func Known() []Kind { return slices.Clone(known) }

var known = []Kind{
	// server
	{"name_unknown", "", Broken, "check base_url, and the network"},
	{"refused", "", Broken, "check base_url: is the server started, and is the port right?"},
	{"tls", "", Broken, "%s"},
	{"unreachable", "", Broken, "check base_url, and the network"},
	{"silent", "", Broken, "is the model being loaded? Then give it longer with --timeout"},
	{"redirect", "", Set, "base_url: %s"},
	{"wrong_path", "", Broken, "%s"},
	{"server_error", "", Broken, "try again later, or look at the server's log"},
	{"rate_limited", "W-13", Broken, "limits: {requests_per_minute: N}, with the N of your account"},
	{"unencrypted", "", Set, "base_url: https://… if the server has it: the key can be read on the way"},

	// key
	{"key_missing", "W-13", Broken, "%s"},
	{"key_refused", "W-13", Broken, "put the right key into %s"},
	{"no_credit", "W-13", Broken, "check the credit of the account"},

	// model
	{"no_list", "", Copes, "segue does not need it; segue models cannot show any"},
	{"model_not_listed", "", Copes, "nothing needs it there"},
	{"model_missing", "W-13", Broken, "%s"},
	{"model_ignored", "W-13", Copes, "nothing: but a typing error in model is not noticed"},
	{"error_in_answer", "W-7", Copes, "segue reads it as an error"},
	{"error_form", "W-13", Copes, "segue reads this form too"},
	{"error_status", "W-13", Set, "limits: {retries: 1}: segue repeats such requests in vain"},

	// reply
	{"request_refused", "", Broken, "%s"},
	{"not_readable", "", Broken, "is base_url the one of an API of Chat Completions?"},
	{"empty_reply", "", Broken, "take another model"},
	{"system_refused", "", Set, "no system and no policy, which needs it: say in the task what matters"},
	{"system_ignored", "", Set, "say in the task what matters: system is not heeded"},
	{"no_usage", "", Set, "limits: {model_calls: N}: limits of tokens and of cost do not count here"},
	{"wrong_type", "W-8", Copes, "segue looks at the content"},
	{"several_choices", "W-12", Copes, "segue takes the first"},
	{"withheld", "W-12", Set, "take another model, or another filter in the account"},
	{"content_list", "W-9", Copes, "segue joins the parts"},
	{"empty_tool_calls", "W-9", Copes, "segue sees no call in it"},
	{"thoughts_in_text", "W-11", Set, "have the server keep them apart (vLLM: --reasoning-parser; llama.cpp: --reasoning-format), or set a policy"},

	// streaming
	{"stream_refused", "", Broken, "%s"},
	{"no_stream", "", Copes, "segue shows the answer when it is whole"},
	{"one_piece", "", Copes, "segue shows the answer when it is whole"},
	{"slow", "", Set, "give such a model a longer idle timeout than two minutes if it thinks for longer"},
	{"no_stream_usage", "", Set, "limits: {model_calls: N}: limits of tokens and of cost do not count here"},
	{"usage_twice", "W-3", Copes, "segue takes the last"},
	{"finish_twice", "W-3", Copes, "segue takes the last"},
	{"no_finish", "W-2", Copes, "segue judges by the content"},
	{"empty_chunk", "W-5", Copes, "segue skips it"},
	{"comments", "W-6", Copes, "segue skips them; they end a silence"},
	{"crlf", "W-6", Copes, "segue reads both line ends"},
	{"no_done", "W-6", Copes, "the finish reason is enough for segue"},
	{"stays_open", "W-6", Set, "a shorter idle timeout: segue waits that long for each end"},
	{"stream_cut", "W-6", Broken, "look at the server's log, and at proxies that end long answers"},
	{"error_in_stream", "W-7", Broken, "look at the server's log"},

	// tools
	{"no_tools", "", Set, "%s"},
	{"calls_as_text", "", Set, "policy: %s, or have the server read them (vLLM: --tool-call-parser; llama.cpp: --jinja)"},
	{"failed_generation", "W-15", Copes, "segue tells the model, and asks again; if it comes often, set a policy"},
	{"bad_arguments", "", Set, "take another model, or set a policy"},
	{"one_call", "", Copes, "the run takes more requests"},
	{"finish_stop", "W-1", Copes, "segue looks at the calls"},
	{"call_twice", "W-2", Copes, "segue makes it once"},
	{"index_missing", "W-4", Copes, "segue goes by id and order"},
	{"index_from_one", "W-4", Copes, "segue goes by what differs"},
	{"empty_id_later", "W-4", Copes, "segue keeps the first"},
	{"empty_name_later", "W-4", Copes, "segue keeps the first"},
	{"no_arguments", "W-4", Copes, "segue makes them {}"},
	{"empty_content", "W-9", Copes, "segue sends null back, as OpenAI does"},
	{"no_call_id", "W-10", Copes, "segue makes one"},
	{"repeated_ids", "S4-23", Copes, "segue keeps the calls of each step apart"},
	{"function_call", "W-16", Copes, "segue reads it as a tool call"},
	{"empty_function_call", "W-16", Copes, "segue ignores it"},

	// results
	{"results_refused", "W-17", Set, "policy: %s: results then go as text"},
	{"results_ignored", "", Set, "take another model, or set a policy"},

	// forced choice
	{"choice_refused", "", Copes, "segue asks again without it"},
	{"choice_ignored", "", Set, "not strategy: tool-first, and react with care: they force a call"},

	// structured output
	{"schema_refused", "", Copes, "segue offers a tool for the answer instead"},
	{"schema_ignored", "", Set, "config: {answer: tool} in an agent that answers by a schema"},
	{"schema_fenced", "", Copes, "segue takes the fence away"},

	// text tools
	{"policy_unread", "", Set, "%s"},
	{"no_policy", "", Broken, "take another model for work with tools"},
}

// kindOf returns the kind with that name.
func kindOf(name string) Kind {
	i := slices.IndexFunc(known, func(k Kind) bool { return k.Name == name })
	return known[i]
}
