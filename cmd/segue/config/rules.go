package config

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/similar"
)

// Patterns of names and texts in a configuration. Names of agents are also names of tools. Names of
// environment variables must be in capitals; most keys are not, so a key in their place is found.
const (
	namePattern        = `^[A-Za-z0-9_-]{1,64}$`
	envPattern         = `^[A-Z_][A-Z0-9_]{0,63}$`
	headerPattern      = `^[A-Za-z0-9!#$%&'*+.^_|~-]{1,100}$`
	headerValuePattern = `^([A-Za-z]{1,20} )?[A-Z_][A-Z0-9_]{0,63}$`
	variablePattern    = `^[A-Za-z_][A-Za-z0-9_]{0,127}(=[^\x00]*)?$`
	prefixPattern      = `^[A-Za-z0-9_-]{0,32}$`
	secretEnvPattern   = `(?is)^[^=]*(key|token|secret|password|passwd|credential)[^=]*=.`
	secretKeyPattern   = `^(headers|api_key|apikey|api-key|apiKey|key|token|secret|password|authorization)$`
)

// Messages about keys of providers and servers in the file. They do not quote the keys.
const (
	noKeyHere       = "a key has no place in this file: put it into an environment variable, and the NAME of that, in capitals, here as api_key_env"
	noHeaderKeyHere = "a key has no place in this file: put it into an environment variable, and the NAME of that, in capitals, here, such as Bearer GITHUB_TOKEN"
	noEnvKeyHere    = "a key has no place in this file: set the variable in the environment, and write its NAME alone"
	noServerKeyHere = "a key has no place in this file: name its environment variable in header_env or env"
)

// spot is a place in the document.
type spot struct {
	*Config
	pointer, name string // name is the second key of the pointer, such as that of an agent
	text          string // what is checked: the last key of the pointer, or the text that stands there
}

// rule says what the schema does not say of the keys or texts at a path, where * stands for any
// key. check returns what is wrong; "": nothing.
type rule struct {
	path  string
	check func(s spot) string
}

// keyRules are for keys. Of several problems of one place the first is told.
var keyRules = []rule{
	{"/models/*/*", never(secretKeyPattern, noKeyHere)},
	{"/mcp/*/*", never(secretKeyPattern, noServerKeyHere)},
	{"/models/*", isName},
	{"/agents/*", isName},
	{"/mcp/*", isName},
	{"/profiles/*", isName},
	{"/agents/*", isNoTool},
	{"/agents/*/config/*", isOfStrategy},
	{"/agents/*/approval/tools/*", isTool},
	{"/agents/*/approval/paths/*", isFileTool},
	{"/agents/*/approval/paths/*/*", problemOf(workfolder.ParsePathGlob)},
	{"/mcp/*/header_env/*", always(headerPattern, "this is no name of a header")},
}

// textRules are for texts.
var textRules = []rule{
	{"/models/*/api_key_env", unlessEmpty(always(envPattern, noKeyHere))},
	{"/mcp/*/header_env/*", always(headerValuePattern, noHeaderKeyHere)},
	{"/mcp/*/env/*", never(secretEnvPattern, noEnvKeyHere)},
	{"/mcp/*/env/*", always(variablePattern, "must be the NAME of a variable, or NAME=value")},
	{"/mcp/*/prefix", always(prefixPattern, "a prefix has at most 32 letters, digits, - and _")},
	{"/mcp/*/url", isServer("header_env")},
	{"/mcp/*/timeout", isDuration},
	{"/mcp/*/connect_timeout", isDuration},
	{"/models/*/base_url", isServer("api_key_env")},
	{"/models/*/policy", isPolicy(func(s spot) string { return s.Models[s.name].API })},
	{"/models/*/limits/timeout", isDuration},
	{"/models/*/limits/idle_timeout", problemOf(endpoint.ParseIdleTimeout)},
	{"/models/*/fallbacks/*", isModel},
	{"/models/*/fallbacks/*", isNoCircle},
	{"/agents/*/model", unlessEmpty(isModel)},
	{"/agents/*/mcp/*", isKnown("MCP server", func(c *Config) []string { return sortedKeys(c.MCP) })},
	{"/agents/*/children/*/agent", isAgent},
	{"/agents/*/config/critic_model", isModel},
	{"/agents/*/config/compact/model", unlessEmpty(isModel)},
	{"/agents/*/config/tool_choice/name", unlessEmpty(isTool)},
	{"/agents/*/config/retrieval/tool", unlessEmpty(isTool)},
	{"/agents/*/config/handoffs/*/strategy", unlessEmpty(isAgent)},
	{"/agents/*/config/handoffs/*/tool", isNoOtherTool},
	{"/agents/*/config/reviewer", unlessEmpty(isAgent)},
	{"/agents/*/config/parts/*/strategy", unlessEmpty(isAgent)},
	{"/agents/*/config/parts/*/fallback", unlessEmpty(isAgent)},
	{"/agents/*/config/*/strategy", unlessEmpty(isAgent)},
	{"/agents/*/config/*/fallback", unlessEmpty(isAgent)},
	{"/default", unlessEmpty(isAgent)},
	{"/rules/*/agent", isAgent},
	{"/rules/*/source", isGiven},
	{"/rules/*/pattern", isGiven},
	{"/rules/*/pattern", problemOf(regexp.Compile)},
	{"/rules/*/keywords/*", hasWord},
	{"/profiles/*/agent", unlessEmpty(isAgent)},
	{"/profiles/*/policy", isPolicy(func(s spot) string { return s.Profiles[s.name].API })},
	{"/profiles/*/base_url", isServer("api_key_env")},
	{"/profiles/*/protect/*", problemOf(workfolder.ParseGlob)},
	{"/protected/*", problemOf(workfolder.ParseGlob)},
	{"/store/keep", problemOf(keptFor)},
}

// rules finds the problems of the rules.
func (c *checker) rules() {
	check := func(r rule, s spot) {
		if text := r.check(s); text != "" {
			c.add(s.pointer, "%s", text)
		}
	}
	for _, r := range keyRules {
		c.each(r.path, func(s spot, _ any) { check(r, s) })
	}
	for _, r := range textRules {
		c.each(r.path, func(s spot, value any) {
			if text, ok := value.(string); ok {
				s.text = text
				check(r, s)
			}
		})
	}
}

// each calls do with the places at a path of the document, in order, and their values.
func (c *Config) each(path string, do func(s spot, value any)) {
	var walk func(at spot, value any, rest []string)
	walk = func(at spot, value any, rest []string) {
		if len(rest) == 0 {
			do(at, value)
			return
		}
		members := membersOf(value)
		for _, key := range sortedKeys(members) {
			if rest[0] == "*" || rest[0] == key {
				next := spot{c, within(at.pointer, key), at.name, key}
				if at.pointer != "" && strings.LastIndexByte(at.pointer, '/') == 0 {
					next.name = key
				}
				walk(next, members[key], rest[1:])
			}
		}
	}
	walk(spot{Config: c}, c.document, strings.Split(path, "/")[1:])
}

// matches returns whether a text matches a pattern, which is compiled when it is first needed: most
// commands read no configuration, and counted repetitions take long.
func matches(pattern string) func(text string) bool {
	form := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(text string) bool { return form().MatchString(text) }
}

func always(pattern, wrong string) func(spot) string {
	is := matches(pattern)
	return func(s spot) string {
		if is(s.text) {
			return ""
		}
		return wrong
	}
}

func never(pattern, wrong string) func(spot) string {
	is := matches(pattern)
	return func(s spot) string {
		if is(s.text) {
			return wrong
		}
		return ""
	}
}

func unlessEmpty(check func(spot) string) func(spot) string {
	return func(s spot) string {
		if s.text == "" {
			return ""
		}
		return check(s)
	}
}

// problemOf tells the error of a function that reads a text.
func problemOf[V any](read func(string) (V, error)) func(spot) string {
	return func(s spot) string {
		if _, err := read(s.text); err != nil {
			return plainwords.Line(err)
		}
		return ""
	}
}

// isKnown tells a name that is not there, with what there is.
func isKnown(what string, all func(c *Config) []string) func(spot) string {
	return func(s spot) string {
		if known := all(s.Config); !slices.Contains(known, s.text) {
			return noSuch(what, s.text, known)
		}
		return ""
	}
}

func noSuch(what, name string, known []string) string {
	all := "none"
	if len(known) > 0 {
		all = strings.Join(known, ", ")
	}
	return "no " + what + " " + strconv.Quote(name) + similar.Aside(name, known) + "; there are: " + all
}

var (
	isName     = always(namePattern, "a name has 1 to 64 letters, digits, - and _")
	isModel    = isKnown("model", func(c *Config) []string { return sortedKeys(c.Models) })
	isAgent    = isKnown("agent", func(c *Config) []string { return sortedKeys(c.Agents) })
	isGiven    = always(`.`, "is empty, and so would fit nothing")
	isFileTool = isKnown("tool for files", func(*Config) []string { return workfolder.ToolNames })
)

func isNoTool(s spot) string {
	if slices.Contains(toolNames, s.text) {
		return "this is the name of a tool"
	}
	return ""
}

// tools returns the tools that the agent of a place can name.
func (s spot) tools() []string {
	return slices.Concat(toolNames, s.Agents[s.name].children(asTool))
}

// isTool tells a tool that no run has. The tools of MCP servers are not known before a run.
func isTool(s spot) string {
	if len(s.Agents[s.name].MCP) > 0 || slices.Contains(s.tools(), s.text) {
		return ""
	}
	return noSuch("tool", s.text, s.tools())
}

func isNoOtherTool(s spot) string {
	if slices.Contains(s.tools(), s.text) {
		return "there is another tool " + strconv.Quote(s.text)
	}
	return ""
}

func isOfStrategy(s spot) string {
	if where, ok := strategies.SaidByAgent[s.text]; ok && strategies.KeysOf(s.Agents[s.name].StrategyName())[s.text] {
		return "say it in the agent: " + where
	}
	return ""
}

func hasWord(s spot) string {
	if len(wordsOf(s.text)) == 0 {
		return "has no letter and no digit"
	}
	return ""
}

func isDuration(s spot) string {
	if _, err := durationOf(s.text); err != nil {
		return "must be a duration above zero, such as 90s or 2m"
	}
	return ""
}

// isServer tells what is wrong with the address of a server, whose key is named by another key of
// the file.
func isServer(named string) func(spot) string {
	return func(s spot) string {
		u, err := url.Parse(s.text)
		switch {
		case s.text == "":
			return ""
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return "must be the address of a server, with http:// or https://"
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			return "must be a plain address, without user, password or query; a key is named by " + named
		default:
			return ""
		}
	}
}

// isPolicy tells what is wrong with a text format for a model with an API.
func isPolicy(api func(spot) string) func(spot) string {
	return unlessEmpty(func(s spot) string {
		if _, err := textpolicy.For(api(s), s.text); s.text != PolicyAuto && err != nil {
			return plainwords.Line(err)
		}
		return ""
	})
}

// isNoCircle tells a fallback that leads back to its model.
func isNoCircle(s spot) string {
	seen := map[string]bool{}
	var walk func(way []string, at string) []string
	walk = func(way []string, at string) []string {
		way = append(slices.Clip(way), at)
		if at == s.name || seen[at] {
			return way
		}
		seen[at] = true
		for _, other := range s.Models[at].Fallbacks {
			if found := walk(way, other); found[len(found)-1] == s.name {
				return found
			}
		}
		return way
	}
	if circle := walk([]string{s.name}, s.text); circle[len(circle)-1] == s.name {
		return "the fallbacks go in a circle: " + strings.Join(circle, " -> ")
	}
	return ""
}
