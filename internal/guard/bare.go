package guard

import (
	"slices"
	"strings"
)

// Packages are the names that begin the error texts of this project. A test compares them with the
// tree. They are read-only.
var Packages = []string{
	"anthropic", "builtin", "checkpoint", "compaction", "completetask", "config", "delegation", "eval", "filetools", "llmclient", "machine", "markdownpolicy",
	"mcptools", "messages", "nextstep", "openaichat", "openairesponses", "orchestrator", "otel", "pgstore", "planreviseexecute", "plantext", "policyclient", "react",
	"reasonactobserve", "reflection", "retry", "runs", "scripted", "sealed", "segue", "segueotel", "sqlitestore", "sse", "stepagent", "strategy", "strategytest", "temporal", "tools", "toolsearch", "workflow",
}

// Bare returns the text of an error without the package name of this module at its beginning, so
// that it can follow another prefix. Each error joined by errors.Join is treated so.
func Bare(err error) string {
	all := Each(err)
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = bare(e.Error())
	}
	return strings.Join(texts, "\n")
}

func bare(text string) string {
	for {
		name, rest, ok := strings.Cut(text, ": ")
		if !ok || !slices.Contains(Packages, name) {
			return text
		}
		text = rest
	}
}

// Within returns an error with the text "place: problem", where problem is the text of err without
// its package name. For joined errors it returns one for each. They wrap err.
func Within(place string, err error) []error {
	all := Each(err)
	for i, e := range all {
		all[i] = New(e, place+": "+bare(e.Error()))
	}
	return all
}

// Each returns the errors that errors.Join has joined, recursively, or err itself if it is not a
// joined error. For nil it returns none.
func Each(err error) []error {
	if err == nil {
		return nil
	}
	j, ok := err.(interface{ Unwrap() []error }) // that error itself, and not what it wraps
	if !ok {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, e := range j.Unwrap() {
		if e == nil {
			continue
		}
		texts = append(texts, e.Error())
		all = append(all, Each(e)...)
	}
	if strings.Join(texts, "\n") != err.Error() { // it says more than they do
		return []error{err}
	}
	return all
}
