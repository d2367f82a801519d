// Package toolsearch configures a search, by which a strategy works with many tools without
// describing all of them to the model: only the pinned tools and a search tool are offered, and
// then those that the model finds. Found tools are appended to those of the last request and never
// reordered, so a provider need not read the earlier ones again in another order; a change is
// declared in Anew of nextstep.GetChatCompletion.
//
// A strategy answers the calls of the search tool itself: a search is pure, so there is nothing to
// perform, to approve or to store. A call of a tool that exists, but was not offered yet, is not
// run either, and the tool is offered from the next request on.
//
// The search compares the words of the query with those in the names, descriptions and names of
// parameters, in any script: rare words count more, those in names most, and words with the same
// beginning a little. The query that is the name of a tool finds it first. The same tools and the
// same query give the same result on each machine. Of each tool only the beginning of a long
// description is read, so that 10,000 tools take less than a second, once in a frame.
package toolsearch

// DefaultName is the name of the search tool unless a [Config] gives another.
const DefaultName = "search_tools"

// Config says when a strategy offers a search for tools instead of all of them. The zero Config is
// ready to use.
type Config struct {
	Above   int      `json:"above,omitempty"`   // a frame that may use more tools than this is offered the search; 0 means 40, negative means never
	Pinned  []string `json:"pinned,omitempty"`  // names of tools that are always offered: the first ones, in this order
	Results int      `json:"results,omitempty"` // most tools that one search finds; 0 means 5
	Name    string   `json:"name,omitempty"`    // of the search tool; "" means "search_tools"
	Prompts Prompts  `json:"prompts,omitzero"`  // the texts for the model
}

// Prompts are templates (text/template) of the texts for the model; "" means the default. The data
// is a [PromptData].
type Prompts struct {
	Description string `json:"description,omitempty"` // of the search tool. Data: .Count
	Query       string `json:"query,omitempty"`       // describes its parameter. Data: .Count
	Found       string `json:"found,omitempty"`       // the result of a search. Data: .Query, .Count, .Tools
	Nothing     string `json:"nothing,omitempty"`     // the result of a search that finds nothing. Data: .Query, .Count
	Arguments   string `json:"arguments,omitempty"`   // the result of a search without a query. Data: .Count
	Early       string `json:"early,omitempty"`       // the result of a call of a tool that was not offered yet. Data: .Tools, with this tool
}

// PromptData is the data for the prompts.
type PromptData struct {
	Query string // what the model searched for, shortened
	Count int    // the number of tools that can be found; the same in all texts of a frame
	Tools []Found
}

// Found is a tool in a text for the model.
type Found struct {
	Name        string
	Description string // shortened
	Parameters  string // a JSON Schema on one line; "" if the requests hold the schemas
}
