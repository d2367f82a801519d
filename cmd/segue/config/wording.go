package config

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/strategy/builtin"
)

// wrongType matches what a schema says of a value of the wrong type.
var wrongType = regexp.MustCompile(`^got (\w+), want (.+)$`)

// typeWords are the types of JSON, in the words of YAML.
var typeWords = map[string]string{
	"array": "a list", "object": "a mapping", "string": "a text", "number": "a number", "integer": "a whole number",
	"boolean": "true or false", "null": "nothing",
}

// timed are the keys of values that are times, with an example.
var timed = map[string]string{"timeout": "90s or 10m", "connect_timeout": "90s or 10m", "idle_timeout": "90s or 10m", "keep": "30d or 8w"}

// mappings matches the pointers of lists of mappings, and of their entries. The forms are those of
// the lists.
var (
	mappings = regexp.MustCompile(`^/(?:agents/[^/]+/)?(children|rules)(?:/\d+)?$`)
	forms    = map[string]string{
		"children": ": write children: [{agent: NAME, as: tool}]",
		"rules":    ": write rules: [{source: WORD, agent: NAME}]",
	}
)

// inWords says in words what a schema says of the value at a pointer.
func inWords(pointer, message string) string {
	form := ""
	if list := mappings.FindStringSubmatch(pointer); list != nil {
		form = forms[list[1]]
	}
	parts := wrongType.FindStringSubmatch(message)
	if parts == nil {
		if strings.HasPrefix(message, "missing ") {
			message += form
		}
		return message
	}
	var wanted []string
	for kind := range strings.SplitSeq(parts[2], " or ") {
		if word := typeWords[kind]; word != "" && kind != "null" {
			wanted = append(wanted, word)
		}
	}
	got := typeWords[parts[1]]
	if got == "" || wanted == nil {
		return message
	}
	if example := timed[path.Base(pointer)]; example != "" && parts[1] == "number" {
		return "this is a number without a unit: write it with one, such as " + example
	}
	text := "this is " + got + ", and must be " + strings.Join(wanted, " or ")
	if form != "" {
		return text + form
	}
	switch parts[1] + " " + parts[2] {
	case "array object":
		text += ": write NAME: VALUE in each line, without the -"
	case "object array":
		text += ": begin each entry with -"
	case "string array":
		text += ": put it in brackets, as in [a, b]"
	case "number string", "boolean string":
		text += ": put it in quotes"
	}
	return text
}

// quotedWord matches a word that a schema quotes.
var quotedWord = regexp.MustCompile(`"([^"]*)"`)

// wholeList replaces a list of strategies that a schema has cut off.
func wholeList(pointer, message string) string {
	if path.Base(pointer) != "strategy" || !strings.HasPrefix(message, "must be one of ") {
		return message
	}
	quoted := make([]string, 0, 16)
	for _, word := range strategies.Words() {
		quoted = append(quoted, strconv.Quote(word))
	}
	return "must be one of " + strings.Join(quoted, ", ")
}

// meantWord returns a question about the word that somebody may have meant in the place of a value,
// of those that a schema says it must be.
func (c *Config) meantWord(pointer, message string) string {
	value, ok := c.valueAt(pointer).(string)
	if !ok || !strings.HasPrefix(message, "must be one of ") {
		return ""
	}
	var known []string
	for _, word := range quotedWord.FindAllStringSubmatch(message, -1) {
		known = append(known, word[1])
	}
	return similar.Hint(value, known)
}

// valueAt returns a value of the document; nil if there is none.
func (c *Config) valueAt(pointer string) any {
	value := c.document
	for _, part := range strings.Split(pointer, "/")[1:] {
		value = membersOf(value)[unescape.Replace(part)]
	}
	return value
}

// keysAt returns the keys that a mapping of a configuration may have.
func (c *Config) keysAt(pointer string) []string {
	var schema node
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if c.schema != nil {
		schema = c.schema
	} else if len(parts) >= 3 && parts[0] == "agents" && parts[2] == "config" {
		name := c.Agents[unescape.Replace(parts[1])].StrategyName()
		if builtin.Table(name) == nil {
			return nil
		}
		schema, parts = strategySchema(name), parts[3:]
	} else {
		schema = shippedNode()
	}
	for _, part := range parts {
		if part != "" {
			schema = schema.below(unescape.Replace(part))
		}
	}
	return sortedKeys(schema.at("properties"))
}

// below returns the schema of a part of a value.
func (n node) below(part string) node {
	if own := n.at("properties", part); len(own) > 0 {
		return own
	}
	if members := n.at("additionalProperties"); len(members) > 0 {
		return members
	}
	return n.at("items")
}
