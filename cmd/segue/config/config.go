package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// File is the content of a configuration, with the keys of the YAML document. docs/configuration.md
// describes the values.
type File struct {
	Models  map[string]Model `json:"models,omitempty" jsonschema:"the models, by the names that the agents call them"`
	Agents  map[string]Agent `json:"agents" jsonschema:"the agents, by name"`
	Default string           `json:"default,omitempty" jsonschema:"the agent of a request that no rule fits; not needed where there is only one"`
	Rules   []Rule           `json:"rules,omitempty" jsonschema:"choose the agent of a request: first those of a source, then those of keywords and patterns, each in the order of the file"`

	Profiles map[string]Profile `json:"profiles,omitempty" jsonschema:"settings for --profile, by name: stronger than the rest of the file, weaker than variables and flags"`

	Store Store `json:"store,omitzero" jsonschema:"where runs are kept, and for how long; a file that was found cannot say so"`

	LargeResults LargeResults         `json:"large_results,omitzero" jsonschema:"keeps results of tools that are too large for a model with the run; agents read them in parts with the tool read_result"`
	MCP          map[string]MCPServer `json:"mcp,omitempty" jsonschema:"MCP servers, by the names that the agents call them"`

	Protected []string `json:"protected,omitempty" jsonschema:"globs of files that are protected besides those that always are: you are asked each time before one is read or changed"`
}

// Model is a model, and how to ask it.
type Model struct {
	Model     string      `json:"model" jsonschema:"the provider's name for the model"`
	API       string      `json:"api,omitempty" jsonschema:"how the server is spoken to: chat, the usual one, is Chat Completions; responses is the Responses API of OpenAI, anthropic the Messages API of Anthropic"`
	BaseURL   string      `json:"base_url,omitempty" jsonschema:"the server, up to and without /chat/completions, /responses or /v1/messages; not given: OPENAI_BASE_URL, or OpenAI; for anthropic ANTHROPIC_BASE_URL, or Anthropic"`
	APIKeyEnv string      `json:"api_key_env,omitempty" jsonschema:"the NAME of the environment variable that holds the key; not given: OPENAI_API_KEY, or ANTHROPIC_API_KEY for anthropic, if base_url is not given either, else no key is sent"`
	Policy    string      `json:"policy,omitempty" jsonschema:"the text format in which the model writes its tool calls, or several with commas between them; auto: the best that segue finds when it tries them, once; not given: the tool calls of the server"`
	Limits    ModelLimits `json:"limits,omitzero" jsonschema:"how fast and how often the model is asked"`
	Fallbacks []string    `json:"fallbacks,omitempty" jsonschema:"other models of this file, asked in this order where this one fails"`

	Effort   string   `json:"effort,omitempty" jsonschema:"how much the model reasons, in the provider's words, such as low, medium or high; not given: the model decides"`
	Summary  string   `json:"summary,omitempty" jsonschema:"with api responses: asks for summaries of the reasoning; not given: none"`
	Thinking Thinking `json:"thinking,omitzero" jsonschema:"with api anthropic: whether and how the model thinks; not given: the model decides"`
	Cache    string   `json:"cache,omitempty" jsonschema:"with api anthropic: how long each request is kept in the provider's cache for the next one; not given: it is not"`
}

// Thinking says whether and how a model of Anthropic thinks.
type Thinking struct {
	Mode    string `json:"mode" jsonschema:"adaptive: the model decides when and how much; enabled: up to budget tokens, for older models; between_tools; disabled"`
	Budget  int    `json:"budget,omitempty" jsonschema:"most tokens of thoughts, with mode enabled: at least 1024, and less than a reply may have"`
	Display string `json:"display,omitempty" jsonschema:"with modes adaptive and enabled: whether thoughts can be read; not given: the model decides"`
}

// ModelLimits limit the requests to a model.
type ModelLimits struct {
	RequestsPerMinute int    `json:"requests_per_minute,omitempty" jsonschema:"most requests in a minute, evenly spaced; 0: no limit"`
	Retries           *int   `json:"retries,omitempty" jsonschema:"most tries after the first where a request fails for a reason that passes; not given: 3; 0 and negative: none"`
	Timeout           string `json:"timeout,omitempty" jsonschema:"the longest that one request may take, such as 90s or 2m; not given: no bound"`
	IdleTimeout       string `json:"idle_timeout,omitempty" jsonschema:"the longest silence of the server, before an answer and within it, such as 90s or 10m; none: no bound; not given: 2m"`
}

// Agent is a strategy with its settings.
type Agent struct {
	Description string            `json:"description,omitempty" jsonschema:"what the agent is for; a model that may call it as a tool is told so"`
	Strategy    string            `json:"strategy,omitempty" jsonschema:"the name of a strategy; not given: complete-task"`
	Config      json.RawMessage   `json:"config,omitempty" jsonschema:"what the strategy can be told besides"`
	Model       string            `json:"model,omitempty" jsonschema:"the name of a model of this file; not needed where there is only one"`
	System      string            `json:"system,omitempty" jsonschema:"the system prompt"`
	Tools       []string          `json:"tools,omitzero" jsonschema:"the tools that it may use; not given: all that the run has; empty: none"`
	MCP         []string          `json:"mcp,omitempty" jsonschema:"the MCP servers whose tools it may use besides; not given: none"`
	Children    []Child           `json:"children,omitempty" jsonschema:"other agents that it may call or hand work on to"`
	Limits      delegation.Limits `json:"limits,omitzero" jsonschema:"bounds of a run of this agent, with all that it begins"`
	Approval    Approval          `json:"approval,omitzero" jsonschema:"which of its tool calls need your approval"`
}

// Child is an agent that another one may use.
type Child struct {
	Agent string `json:"agent" jsonschema:"the name of the agent"`
	As    string `json:"as,omitempty" jsonschema:"tool, the usual one: the model may call it; executor: the strategy hands work on to it"`
}

// Approval holds words of --approve.
type Approval struct {
	Default string            `json:"default,omitempty" jsonschema:"of the tools that are not named; not given: ask"`
	Tools   map[string]string `json:"tools,omitempty" jsonschema:"by the name of a tool"`

	Paths map[string]map[string]string `json:"paths,omitempty" jsonschema:"by the name of a tool for files, and by a glob of paths within the folder, such as src/** or *.md: it counts before tools and default; of several that fit, the strictest"`
}

// Rule chooses an agent by source, keywords or pattern.
type Rule struct {
	Source   string   `json:"source,omitempty" jsonschema:"fits what --source says, letter by letter"`
	Keywords []string `json:"keywords,omitempty" jsonschema:"fits a task with one of these words, or sequences of words, in capitals or not"`
	Pattern  string   `json:"pattern,omitempty" jsonschema:"fits a task that this regular expression (RE2) is found in"`
	Agent    string   `json:"agent" jsonschema:"the agent that is chosen"`
}

// The ways in which an agent uses another.
const (
	asTool     = "tool"
	asExecutor = "executor"
)

// children returns the names of the child agents that are used in this way.
func (a Agent) children(as string) []string {
	var names []string
	for _, child := range a.Children {
		if cmp.Or(child.As, asTool) == as {
			names = append(names, child.Agent)
		}
	}
	return names
}

// StrategyName returns the name of the strategy, not an alias.
func (a Agent) StrategyName() string {
	return strategies.RealName(cmp.Or(a.Strategy, completetask.Name))
}

// Config is a configuration that was read and checked: the content of the file, and its origin. It
// is safe for concurrent use if no goroutine changes it.
type Config struct {
	File
	Path  string // path of the file, for errors
	Found bool   // the file was found and not named, so it may belong to somebody else: it cannot loosen approval or send keys elsewhere
	text  []byte // the whole file
	at    positions

	document any  // the whole file, as encoding/json decodes it; only while it is parsed
	other    bool // it is a [Document]
	schema   node // of a [Document]; nil: that of a configuration
}

// Error holds all problems of a configuration, in the order of the file.
type Error struct {
	Path     string // path of the file
	Problems []Problem
	other    bool // the file is no configuration
}

// Error returns the first problem, and how many more there are.
func (e *Error) Error() string {
	text := e.Path + ":" + e.Problems[0].String()
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more", more)
		if !e.other {
			text += "; see segue config check"
		}
		text += ")"
	}
	return text
}

// MaxSize is the maximum size of a configuration in bytes.
const MaxSize = 1 << 20

// Read reads the configuration in a file that the user named, and checks it like [Parse]. The file
// must be a regular file of at most [MaxSize] bytes.
func Read(path string) (*Config, error) {
	text, err := regularfile.Read(path, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return Parse(path, text)
}

// Parse reads and checks a configuration in a text. It executes no templates or schemas; see
// [Config.Try]. The path is for errors. If the text has problems, Parse returns an [*Error] with
// all of them. Parse keeps the text; do not change it afterwards.
func Parse(path string, text []byte) (*Config, error) {
	c := &Config{Path: path, text: text}
	if err := c.problems(c.parse(text)); err != nil {
		return nil, err
	}
	return c, nil
}

// Try makes each agent once, to find problems that Parse cannot find. This executes templates and
// schemas, so do not try an untrusted file. Problems are returned as an [*Error]. Try calls no
// model and needs no key.
func (c *Config) Try() error {
	tried := &checker{Config: c}
	tried.try()
	return c.problems(tried.found)
}

// problems returns an [*Error] with the problems; nil if there are none.
func (c *Config) problems(found []Problem) error {
	if len(found) == 0 {
		return nil
	}
	return &Error{c.Path, inOrder(found), c.other}
}

// parse fills in c and returns the problems. What the schema alone finds is told if there is
// nothing else, so that editors report the same problems.
func (c *Config) parse(text []byte) []Problem {
	value, at, problems := readYAML(text)
	c.at, c.document = at, value
	defer func() { c.document = nil }()
	if len(problems) > 0 {
		return problems
	}
	document, err := json.Marshal(value)
	if err != nil {
		return []Problem{{At: Position{1, 1}, Text: "it cannot be written as JSON"}}
	}
	wrongType := json.Unmarshal(document, &c.File) // values of the wrong type stay empty; the schema reports them
	schema, err := shippedSchema()
	if err != nil {
		return []Problem{{At: Position{1, 1}, Text: err.Error()}}
	}
	var values, keys, others []Problem
	if e, ok := errors.AsType[*tools.SchemaError](schema.Check(string(document))); ok {
		for _, p := range e.Problems {
			switch {
			case valueRule.MatchString(p.Message):
				values = append(values, c.placed(p)...)
			case ofStrategy.MatchString(p.Pointer) || keyRule.MatchString(p.Message):
				keys = append(keys, c.placed(p)...)
			default:
				others = append(others, c.placed(p)...)
			}
		}
	}
	checked := &checker{c, values}
	checked.check()
	switch all := append(checked.found, keys...); {
	case len(all) > 0:
		return all
	case len(others) == 0 && wrongType != nil:
		return []Problem{{At: Position{1, 1}, Text: "a value is of the wrong type"}}
	default:
		return others
	}
}

// The problems of the schema that are told in its words: those about types, words and the sizes of
// numbers, about keys, and all in the config of a strategy. Others [Config.check] tells in its own.
var (
	valueRule  = regexp.MustCompile(`^(got|must be one of) |9223372036854775`)
	keyRule    = regexp.MustCompile(`^(missing|unknown) `)
	ofStrategy = regexp.MustCompile(`^/agents/[^/]+/config(/|$)`)
)

// placed returns a problem of the schema with its position; each unknown key has its own.
func (c *Config) placed(p tools.Problem) []Problem {
	if !strings.HasPrefix(p.Message, "unknown ") {
		message := wholeList(p.Pointer, p.Message)
		return []Problem{c.problem(p.Pointer, "%s%s", inWords(p.Pointer, message), c.meantWord(p.Pointer, message))}
	}
	var all []Problem
	for _, key := range sortedKeys(membersOf(c.valueAt(p.Pointer))) {
		if strings.Contains(p.Message, fmt.Sprintf("%q", key)) {
			all = append(all, c.problem(within(p.Pointer, key), "there is no such key%s", similar.Hint(key, c.keysAt(p.Pointer))))
		}
	}
	if all == nil { // a long one
		all = append(all, c.problem(p.Pointer, "there is a key that is not known"))
	}
	return all
}

func (c *Config) problem(pointer, format string, args ...any) Problem {
	return Problem{pointer, c.at.of(pointer), fmt.Sprintf(format, args...)}
}

// says reports whether the file has a value at a pointer.
func (c *Config) says(pointer string) bool {
	_, ok := c.at[pointer]
	return ok
}

// Text returns the text of the file. Do not change it.
func (c *Config) Text() []byte { return c.text }
