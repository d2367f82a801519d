// Package plainwords says errors of the library in the words of the command: without the names of
// packages, functions and codes.
package plainwords

import (
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/llmclient"
)

// codes says what the codes of failed requests mean.
var codes = map[llmclient.Code]string{
	llmclient.CodeRateLimited:       "the rate limit of the server was reached",
	llmclient.CodeUnavailable:       "the server cannot be reached, or is down",
	llmclient.CodeTimeout:           "the server did not answer in time",
	llmclient.CodeTruncated:         "the answer broke off",
	llmclient.CodeContextLength:     "the conversation is too long for the model",
	llmclient.CodeAuth:              "the server refuses the key",
	llmclient.CodeQuota:             "the account has no credit left",
	llmclient.CodeNotFound:          "the server does not know the model or the address",
	llmclient.CodeBadRequest:        "the server refuses the request",
	llmclient.CodeContentFilter:     "the provider withheld the answer",
	llmclient.CodeMalformedToolCall: "the model wrote a tool call that cannot be read",
	llmclient.CodeBadResponse:       "the answer of the server cannot be read",
	llmclient.CodeCanceled:          "the request was given up",
	"failed":                        "the request failed",
}

// worded are the packages with names that a provider or a file may use, too: they are removed only
// at the beginning of an error.
var worded = []string{"tools", "messages", "strategy", "retry", "reflection", "react", "config"}

// named are the packages whose names are no words of a user: they are removed wherever a part of an
// error begins with one.
var named = slices.DeleteFunc(slices.Clone(guard.Packages), func(name string) bool { return slices.Contains(worded, name) })

var (
	coded     = regexp.MustCompile(`\bllmclient: ([a-z_]+)( \(|:\s|$)`)
	beginning = regexp.MustCompile(`^((` + strings.Join(append(named, worded...), "|") + `): )+`)
	inside    = regexp.MustCompile(`(: |; |\(|\n)((` + strings.Join(named, "|") + `): )+`)
	waited    = regexp.MustCompile(`, retry after [\w.]+`) // the command says it in words of its own
	field     = regexp.MustCompile(`^BaseURL: `)           // whose text says which address it is about
	root      = regexp.MustCompile(`^frame 0: `)
	parsed    = regexp.MustCompile(`strconv\.(\w+): parsing ("(?:[^"\\]|\\.)*"): (invalid syntax|value out of range)`)
)

// reworded has what stands for words about a Go program, and for words that say too much.
var reworded = strings.NewReplacer(
	"APIKey: has ", "the key has ",
	"error parsing regexp: ", "this is no regular expression: ",
	"; give a query with option.WithQuery in Options", "; leave it out",
	"the server refuses the request (model ", "the request cannot be sent (model ", // without a status: no server was asked
	"the server refuses the key (status 403", "the server refuses access (status 403", // it can be the country, the account or a firewall
)

// Line returns the text of an error in plain words, as one line.
func Line(err error) string { return plaintext.OneLine(Of(err.Error())) }

// Of returns the text of an error in plain words.
func Of(text string) string {
	text = coded.ReplaceAllStringFunc(text, func(found string) string {
		part := coded.FindStringSubmatch(found)
		words, ok := codes[llmclient.Code(part[1])]
		if !ok {
			return found
		}
		return words + part[2]
	})
	text = beginning.ReplaceAllString(text, "")
	text = inside.ReplaceAllString(text, "$1")
	text = field.ReplaceAllString(waited.ReplaceAllString(text, ""), "")
	text = reworded.Replace(text)
	text = root.ReplaceAllString(text, "")
	return parsed.ReplaceAllStringFunc(text, func(found string) string {
		part := parsed.FindStringSubmatch(found)
		return part[2] + " " + numberProblem(part[1], part[3])
	})
}

// numberProblem says what is wrong with a value that package strconv has refused.
func numberProblem(function, problem string) string {
	switch {
	case function == "ParseBool":
		return "must be true or false"
	case problem != "invalid syntax":
		return "is too large"
	case function == "ParseFloat":
		return "must be a number"
	case function == "ParseUint":
		return "must be a whole number from 0 on"
	default:
		return "must be a whole number"
	}
}
