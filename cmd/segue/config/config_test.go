package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
)

// parsed reads a configuration from a text.
func parsed(text string) (*Config, []string) {
	c := &Config{Path: "segue.yaml"}
	problems := []string{}
	found := c.parse([]byte(text))
	if len(found) == 0 {
		tried := &checker{Config: c}
		tried.try()
		found = tried.found
	}
	for _, p := range inOrder(found) {
		problems = append(problems, p.String())
	}
	return c, problems
}

// sound reads a configuration that must be in order.
func sound(t *testing.T, text string) *Config {
	t.Helper()
	c, problems := parsed(text)
	require.Empty(t, problems)
	return c
}

// TestConfig_problems finds all that is wrong at once, with its place.
func TestConfig_problems(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"empty":       {"# nothing\n", []string{"1:1: the file is empty"}},
		"no agents":   {"agents: {}", []string{"1:1: agents: there is no agent"}},
		"not at all":  {"models: {}", []string{`1:1: missing "agents"`}},
		"no mapping":  {"- a", []string{"1:1: this is a list, and must be a mapping: write NAME: VALUE in each line, without the -"}},
		"documents":   {"a: 1\n---\nb: 1\n", []string{"3:1: the file holds more than one document"}},
		"anchor":      {"agents:\n  a: &x {system: s}\n  b: *x\n", []string{"2:6: agents.a: anchors and aliases are not supported; write it out", "3:6: agents.b: anchors and aliases are not supported; write it out"}},
		"tag":         {"agents: !!x {a: {}}\n", []string{"1:9: agents: tags are not supported"}},
		"number":      {"agents: {a: {limits: {steps: .inf}}}", []string{"1:30: agents.a.limits.steps: this is no value that JSON has"}},
		"unknown key": {"agents:\n  a: {systm: x, modelz: y}\n", []string{"2:7: agents.a.systm: there is no such key; did you mean system?", "2:17: agents.a.modelz: there is no such key; did you mean model?"}},
		"types":       {"agents:\n  a:\n    tools: read_file\n    limits: {steps: many}\n", []string{"3:5: agents.a.tools: this is a text, and must be a list: put it in brackets, as in [a, b]", "4:14: agents.a.limits.steps: this is a text, and must be a whole number"}},
		"names":       {"agents: {a b: {}, read_file: {}}", []string{"1:10: agents.a b: a name has 1 to 64 letters, digits, - and _", "1:19: agents.read_file: this is the name of a tool"}},
		"config": {
			"agents:\n  a:\n    strategy: planning\n    config:\n      max_stepz: 3\n      prompts: {plam: x}\n      system: x\n      executor: b\n",
			[]string{
				"5:7: agents.a.config.max_stepz: there is no such key; did you mean max_steps?", "6:17: agents.a.config.prompts.plam: there is no such key; did you mean plan?",
				"7:7: agents.a.config.system: say it in the agent: system", "8:7: agents.a.config.executor: say it in the agent: children",
			},
		},
		"config value": {"agents: {a: {config: {on_limit: explode}}}", []string{`1:23: agents.a.config.on_limit: must be one of "conclude", "fail"`}},
		"config list":  {"agents: {a: {config: []}}", []string{"1:14: agents.a.config: this is a list, and must be a mapping: write NAME: VALUE in each line, without the -"}},
		"children": {
			"agents:\n  a:\n    children:\n      - {agent: b}\n      - {agent: c, as: tool}\n      - {agent: b, as: executor}\n      - {agent: b, as: friend}\n  b: {}\n",
			[]string{
				"4:9: agents.a.children[0]: b needs a description, for the model that may call it",
				`5:10: agents.a.children[1].agent: no agent "c"; there are: a, b`,
				"6:9: agents.a.children[2]: the strategy complete-task hands nothing on; use the agent as: tool",
				`7:20: agents.a.children[3].as: must be one of "tool", "executor"`,
				"7:9: agents.a.children[3]: b needs a description, for the model that may call it",
			},
		},
		"misfits": {
			"agents:\n  a: {strategy: retry, model: m, system: s, children: [{agent: b, as: executor}, {agent: c, as: executor}]}\n  b: {}\n  c: {strategy: llm-only, tools: []}\nmodels: {m: {model: x}}\n",
			[]string{
				"2:24: agents.a.model: retry asks no model itself; say it of the executor", "2:34: agents.a.system: retry asks no model itself; say it of the executor",
				"2:45: agents.a.children: retry takes one executor", "4:3: agents.c: llm-only calls no tools; give them to another agent",
			},
		},
		"critic":    {"agents: {a: {strategy: reflection, config: {critic_model: gpt}}}", []string{`1:45: agents.a.config.critic_model: no model "gpt"; there are: none`}},
		"summaries": {"agents: {a: {config: {compact: {model: gpt}}}}", []string{`1:33: agents.a.config.compact.model: no model "gpt"; there are: none`}},
		"models": {
			"models:\n  a: {model: x, fallbacks: [b, d]}\n  b: {model: x, fallbacks: [c]}\n  c: {model: x, fallbacks: [a], policy: 'fenced,nope'}\nagents: {x: {}, y: {model: z}}\n",
			[]string{
				"2:29: models.a.fallbacks[0]: the fallbacks go in a circle: a -> b -> c -> a", `2:32: models.a.fallbacks[1]: no model "d"; there are: a, b, c`,
				"3:29: models.b.fallbacks[0]: the fallbacks go in a circle: b -> c -> a -> b", "4:29: models.c.fallbacks[0]: the fallbacks go in a circle: c -> a -> b -> c",
				`4:33: models.c.policy: there is no policy "nope"; there are: fenced, xml, react, hermes, llama, pythonic, mistral, glm, kimi, deepseek, harmony, gemma, minimax, gemma4, deepseekv32, structured`,
				"5:10: agents.x: there is more than one model; say which: model: a or b or c", `5:21: agents.y.model: no model "z"; there are: a, b, c`,
			},
		},
		"choices": {
			"agents:\n  o:\n    config:\n      on_limit: Fail\n      tool_choice: {mode: tool}\n      max_tokens: 9223372036854775808\n  p: {strategy: planning, config: {max_steps: -1, evaluation: func}}\n  t: {strategy: tool-first, config: {tool_choice: {name: read_file}}}\n",
			[]string{
				`4:7: agents.o.config.on_limit: must be one of "conclude", "fail"; did you mean fail?`, `5:7: agents.o.config.tool_choice: missing "name"`,
				"6:7: agents.o.config.max_tokens: must be at most 9223372036854775807", "7:36: agents.p.config.max_steps: must be at least 0",
				`7:51: agents.p.config.evaluation: must be one of "model", "never"`, "8:52: agents.t.config.tool_choice.name: not allowed here", `8:38: agents.t.config.tool_choice: missing "mode"`,
			},
		},
		"prompts": {
			"agents:\n  a:\n    config:\n      prompts:\n        empty: '{{'\n        conclude: '{{.Nothing}}'\n        continue: Go on.\n",
			[]string{
				"5:9: agents.a.config.prompts.empty: template: Empty:1: unclosed action",
				"6:9: agents.a.config.prompts.conclude: template: Conclude:1:2: executing \"Conclude\" at <.Nothing>: map has no entry for key \"Nothing\"",
			},
		},
		"number with an exponent": {"agents: {a: {config: {temperature: 1e-1, max_tokens: 1e3}, description: 'x 1e3'}}", []string{}},
		"number that is a text":   {"agents: {a: {config: {temperature: '1e-1'}}}", []string{"1:23: agents.a.config.temperature: this is a text, and must be a number"}},
		"endless number":          {"agents: {a: {config: {temperature: 1e999}}}", []string{"1:36: agents.a.config.temperature: the number is too large"}},
		"too large": {"agents: {a: {limits: {steps: 1e30}}}\nmodels: {m: {model: x, limits: {retries: 9223372036854775808, requests_per_minute: -1e19}}}\n", []string{
			"1:23: agents.a.limits.steps: must be at most 9223372036854775807",
			"2:33: models.m.limits.retries: must be at most 9223372036854775807", "2:63: models.m.limits.requests_per_minute: must be at least -9223372036854775808",
		}},
		"deep brackets":      {"a: " + strings.Repeat("[", maxDepth+1), []string{"1:104: this is more than 100 levels deep"}},
		"deep mappings":      {"a:\n  " + strings.Repeat("{a: ", maxDepth+1), []string{"2:403: this is more than 100 levels deep"}},
		"deep lists":         {strings.Repeat("- ", maxDepth+1), []string{"1:201: this is more than 100 levels deep"}},
		"deep keys":          {strings.Repeat("? ", maxDepth+1), []string{"1:201: this is more than 100 levels deep"}},
		"deep anchors":       {"a: " + strings.Repeat("&a ", maxDepth+1), []string{"1:304: this is more than 100 levels deep"}},
		"many lines":         {strings.Repeat("-\n", maxTokens+1), []string{"10001:1: the file has more than 10000 words and marks"}},
		"byte order mark":    {"\ufeffagents:\n  a: {strateg: x}\n", []string{"2:7: agents.a.strateg: there is no such key; did you mean strategy?"}},
		"tabs":               {"agents:\n  a:\n  \tsystem: x\n", []string{"3:3: it is not YAML: a tab stands where only blanks may: indent with blanks"}},
		"tab":                {"agents:\n\ta: {}\n", []string{"2:1: it is not YAML: a tab stands where only blanks may: indent with blanks"}},
		"tabs in texts":      {"agents:\n  a:\n    system: x\ty\t# z\n", []string{}},
		"key twice":          {"agents:\n  a:\n    system: x\n    system: y\n", []string{"4:5: it is not YAML: the key is there twice, first in line 3: keep one of them"}},
		"indented otherwise": {"agents:\n  a:\n    system: x\n   model: y\n", []string{"4:4: it is not YAML: this does not belong here: see whether the lines are indented alike"}},
		"Latin-1":            {"agents:\n  a:\n    system: Gr\xfc\xdfe\n", []string{"3:15: the byte 0xFC is not UTF-8; the file seems to be in Latin-1 (ISO 8859-1 or Windows-1252): save it as UTF-8"}},
		"UTF-16":             {"\xff\xfea\x00:\x00", []string{"1:1: the file is in UTF-16: save it as UTF-8"}},
		"UTF-16, big":        {"\xfe\xff\x00a\x00:", []string{"1:1: the file is in UTF-16: save it as UTF-8"}},
		"UTF-16, bare":       {"a\x00:\x00", []string{"1:1: the file is in UTF-16: save it as UTF-8"}},
		"UTF-32":             {"\xff\xfe\x00\x00a\x00\x00\x00", []string{"1:1: the file is in UTF-32: save it as UTF-8"}},
		"zero":               {"agents:\n  ä: \x00\n", []string{"2:6: a byte is zero, which no text has: write the file anew, as a text in UTF-8"}},
		"list for mapping":   {"agents:\n  - a: {}\n", []string{"1:1: agents: this is a list, and must be a mapping: write NAME: VALUE in each line, without the -"}},
		"mapping for list":   {"agents: {a: {children: {agent: b}}}", []string{"1:14: agents.a.children: this is a mapping, and must be a list: write children: [{agent: NAME, as: tool}]"}},
		"name for a child":   {"agents: {a: {children: [b]}, b: {}}", []string{"1:25: agents.a.children[0]: this is a text, and must be a mapping: write children: [{agent: NAME, as: tool}]"}},
		"name for children":  {"agents: {a: {children: b}, b: {}}", []string{"1:14: agents.a.children: this is a text, and must be a list: write children: [{agent: NAME, as: tool}]"}},
		"child by name":      {"agents: {a: {children: [{name: b}]}, b: {}}", []string{`1:25: agents.a.children[0]: missing "agent": write children: [{agent: NAME, as: tool}]`, "1:26: agents.a.children[0].name: there is no such key"}},
		"rule by a word":     {"agents: {a: {}, b: {}}\nrules: [b]", []string{"2:9: rules[0]: this is a text, and must be a mapping: write rules: [{source: WORD, agent: NAME}]"}},
		"child without name": {"agents: {a: {children: [{agent: ''}]}}", []string{`1:26: agents.a.children[0].agent: no agent ""; there are: a`}},
		"agent called so":    {"agents: {children: b}", []string{"1:10: agents.children: this is a text, and must be a mapping"}},
		"meant": {
			"models: {main: {modeel: x, model: y}, other: {model: z}}\nagents:\n  planner: {strategy: reflexion, model: mian, children: [{agent: helpr}]}\n  helper: {description: d, model: other, tools: [read_flie], approval: {tools: {write_flie: ask}}}\ndefault: plannr\nprofils: {}\n",
			[]string{
				"1:17: models.main.modeel: there is no such key; did you mean model?",
				`3:13: agents.planner.strategy: must be one of "complete-task", "choose", "llm-only", "loop", "parallel", "plan-and-execute", "plan-revise-execute", "react", "reason-act-observe", "reflection", "retry", "sequence", "tool-first", "default", "planning"; did you mean reflection?`,
				`3:34: agents.planner.model: no model "mian" (did you mean main?); there are: main, other`,
				`3:59: agents.planner.children[0].agent: no agent "helpr" (did you mean helper?); there are: helper, planner`,
				`4:50: agents.helper.tools[0]: must be one of "list_files", "read_file", "write_file", "edit_file", "search_files", "ask_user", "read_result"; did you mean read_file?`,
				`4:81: agents.helper.approval.tools.write_flie: no tool "write_flie" (did you mean write_file?); there are: list_files, read_file, write_file, edit_file, search_files, ask_user, read_result`,
				`5:1: default: no agent "plannr" (did you mean planner?); there are: helper, planner`, "6:1: profils: there is no such key; did you mean profiles?",
			},
		},
		"tools that are not there": {
			"agents:\n  t: {strategy: tool-first, config: {tool_choice: {mode: tool, name: list_flies}}}\n  r: {strategy: reason-act-observe, config: {retrieval: {tool: look_up}}}\n",
			[]string{
				`2:64: agents.t.config.tool_choice.name: no tool "list_flies" (did you mean list_files?); there are: list_files, read_file, write_file, edit_file, search_files, ask_user, read_result`,
				`3:58: agents.r.config.retrieval.tool: no tool "look_up"; there are: list_files, read_file, write_file, edit_file, search_files, ask_user, read_result`,
			},
		},
		"profiles": {
			"agents: {a: {}}\nprofiles:\n  fast: {agent: b, approve: alwys, max_steps: 0, base_url: localhost, policy: nope, stratgy: x}\n  'a b': {protect: ['']}\n",
			[]string{
				`3:10: profiles.fast.agent: no agent "b"; there are: a`, `3:20: profiles.fast.approve: must be one of "ask", "always", "never", "untrusted"; did you mean always?`,
				"3:36: profiles.fast.max_steps: 0 steps do nothing; say how many, or -1 for no bound", "3:50: profiles.fast.base_url: must be the address of a server, with http:// or https://",
				`3:71: profiles.fast.policy: there is no policy "nope"; there are: fenced, xml, react, hermes, llama, pythonic, mistral, glm, kimi, deepseek, harmony, gemma, minimax, gemma4, deepseekv32, structured`,
				"3:85: profiles.fast.stratgy: there is no such key; did you mean strategy?",
				"4:3: profiles.a b: a name has 1 to 64 letters, digits, - and _", "4:21: profiles.a b.protect[0]: a glob of protected files is empty",
			},
		},
		"twice": {
			"agents:\n  a:\n    tools: [read_file, ask_user, read_file]\n    children: [{agent: b}, {agent: b, as: tool}]\n  b: {description: Helps.}\n  p: {strategy: planning, children: [{agent: b, as: executor}, {agent: b, as: executor}]}\n",
			[]string{
				"3:34: agents.a.tools[2]: the tool is there twice", "4:28: agents.a.children[1]: the agent is there twice", "6:64: agents.p.children[1]: the agent is there twice",
			},
		},
		"bounds of executors": {
			"agents:\n  p: {strategy: retry, tools: [read_file], children: [{agent: a, as: executor}]}\n  a: {strategy: planning, tools: [ask_user, read_file], children: [{agent: b, as: executor}]}\n  b: {children: [{agent: c}, {agent: d}]}\n  c: {description: Helps., tools: [list_files]}\n  d: {description: Helps.}\n",
			[]string{
				"3:35: agents.a.tools[0]: p hands work on to a, and its tools do not allow ask_user",
				"5:36: agents.c.tools[0]: a hands work on to c, and its tools do not allow list_files",
			},
		},
		"models of executors": {
			"models: {a: {model: x}, b: {model: y}}\nagents:\n  r: {strategy: retry, children: [{agent: w, as: executor}]}\n  s: {strategy: retry}\n  w: {model: a}\n",
			[]string{"4:3: agents.s: there is more than one model; say which: model: a or b"},
		},
		"tools of those that hand on": {
			"agents:\n  r: {strategy: reflection, children: [{agent: b}, {agent: w, as: executor}]}\n  w: {}\n  b: {description: Helps.}\n",
			[]string{"2:3: agents.r: reflection with an executor calls no tools; give them to another agent"},
		},
		"servers": {
			"models:\n  a: {model: x, base_url: localhost, limits: {timeout: 5}}\n  b: {model: x, base_url: 'http://h/v1?x=1', limits: {timeout: -5s}}\nagents: {x: {model: a}}\n",
			[]string{
				"2:17: models.a.base_url: must be the address of a server, with http:// or https://", "2:47: models.a.limits.timeout: this is a number without a unit: write it with one, such as 90s or 10m",
				"3:17: models.b.base_url: must be a plain address, without user, password or query; a key is named by api_key_env",
				"3:55: models.b.limits.timeout: must be a duration above zero, such as 90s or 2m",
			},
		},
		"rules": {
			"agents: {a: {}}\ndefault: b\nrules:\n  - {agent: a}\n  - {agent: a, source: x, pattern: '('}\n  - {agent: b, keywords: ['!']}\n",
			[]string{
				`2:1: default: no agent "b"; there are: a`, "4:5: rules[0]: needs one of source, keywords and pattern", "5:5: rules[1]: needs one of source, keywords and pattern",
				"5:27: rules[1].pattern: this is no regular expression: missing closing ): `(`", `6:6: rules[2].agent: no agent "b"; there are: a`, "6:27: rules[2].keywords[0]: has no letter and no digit",
			},
		},

		"MCP, unknown server": {"mcp: {files: {command: [x]}}\nagents: {a: {mcp: [file, files, files]}}\n", []string{
			`2:20: agents.a.mcp[0]: no MCP server "file" (did you mean files?); there are: files`, "2:33: agents.a.mcp[2]: the server is there twice",
		}},
		"both":         {"mcp:\n  a: {command: [x], url: 'http://h'}\n  b: {prefix: b}\nagents: {a: {}}\n", []string{"2:3: mcp.a: has both a command and a url; give it one", "3:3: mcp.b: needs a command or a url"}},
		"MCP, misfits": {"mcp:\n  a: {url: 'http://h', dir: x}\n  b: {command: [x], header_env: {A: KEY}}\nagents: {a: {}}\n", []string{"2:3: mcp.a: dir and env are for a command, and this server has a url", "3:21: mcp.b.header_env: headers are for a url, and this server has a command: name the variables in env"}},
		"no program":   {"mcp: {a: {command: ['']}}\nagents: {a: {}}\n", []string{"1:11: mcp.a.command: the program is empty"}},
		"addresses": {"mcp:\n  a: {url: 'ftp://h'}\n  b: {url: 'http://h/?key=1'}\nagents: {a: {}}\n", []string{
			"2:7: mcp.a.url: must be the address of a server, with http:// or https://", "3:7: mcp.b.url: must be a plain address, without user, password or query; a key is named by header_env",
		}},
		"keys": {"mcp:\n  a: {url: 'http://h', header_env: {Authorization: Bearer ghp_xyz}, token: ghp_xyz}\n  b: {command: [x], env: [API_KEY=xyz, 1=2, LEVEL=warn]}\nagents: {a: {}}\n", []string{
			"2:37: mcp.a.header_env.Authorization: " + noHeaderKeyHere, "2:69: mcp.a.token: a key has no place in this file: name its environment variable in header_env or env",
			"3:27: mcp.b.env[0]: " + noEnvKeyHere, "3:40: mcp.b.env[1]: must be the NAME of a variable, or NAME=value",
		}},
		"MCP, values": {"mcp:\n  a: {command: [x], prefix: a.b, timeout: 0s, connect_timeout: soon}\n  'b c': {command: [x]}\nagents: {a: {}}\n", []string{
			"2:21: mcp.a.prefix: a prefix has at most 32 letters, digits, - and _", "2:34: mcp.a.timeout: must be a duration above zero, such as 90s or 2m",
			"2:47: mcp.a.connect_timeout: must be a duration above zero, such as 90s or 2m", "3:3: mcp.b c: a name has 1 to 64 letters, digits, - and _",
		}},
		"protocols": {"mcp: {a: {command: [x], protocol: '2025-06-18'}, b: {command: [x], protocol: 1.0}, c: {command: [x], protocol: '2025-01-01'}}\nagents: {a: {}}\n", []string{
			"1:68: mcp.b.protocol: this is a number, and must be a text: put it in quotes",
			`1:102: mcp.c.protocol: must be one of "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"; did you mean 2025-11-25?`,
		}},
		"no use": {"mcp: {f: {command: [x]}}\nagents: {a: {strategy: llm-only, mcp: [f]}, b: {strategy: planning, mcp: [f], children: [{agent: c, as: executor}]}, c: {}}\n", []string{
			"2:34: agents.a.mcp: llm-only calls no tools; give them to another agent", "2:69: agents.b.mcp: plan-and-execute with an executor calls no tools; give them to another agent",
		}},
		"tools that are not known yet": {"mcp: {f: {command: [x]}}\nagents: {a: {mcp: [f], approval: {tools: {f_move: never}}, config: {tool_choice: {mode: tool, name: f_move}}}}\n", []string{}},
		"approval by paths": {
			"agents:\n  a:\n    approval:\n      paths:\n        ask_user: {'*': ask}\n        wirte_file: {'*': ask}\n        write_file: {/src: ask, a/../b: ask, '[': ask, '': never, x: perhaps}\n",
			[]string{
				"5:9: agents.a.approval.paths.ask_user: no tool for files \"ask_user\"; there are: list_files, read_file, write_file, edit_file, search_files",
				"6:9: agents.a.approval.paths.wirte_file: no tool for files \"wirte_file\" (did you mean write_file?); there are: list_files, read_file, write_file, edit_file, search_files",
				"7:22: agents.a.approval.paths.write_file./src: \"/src\" is not a glob of paths within the folder, such as src/** or *.md", "7:33: agents.a.approval.paths.write_file.a/../b: \"a/../b\" is not a glob of paths within the folder, such as src/** or *.md",
				"7:46: agents.a.approval.paths.write_file.[: \"[\" is not a glob of paths within the folder, such as src/** or *.md", "7:56: agents.a.approval.paths.write_file.: \"\" is not a glob of paths within the folder, such as src/** or *.md",
				`7:67: agents.a.approval.paths.write_file.x: must be one of "ask", "always", "never", "untrusted"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := parsed(tt.text)
			require.ElementsMatch(t, tt.want, got)
		})
	}
	_, got := parsed("agents: {a: {strategy: reflexion}}")
	require.Len(t, got, 1)
	for _, name := range strategies.Words() {
		require.Contains(t, got[0], name)
	}
	for _, name := range strategies.Words() { // each can be an agent as it is
		_, got := parsed("agents: {a: {strategy: " + name + ", config: {}}}")
		require.Empty(t, got, name)
	}
}

// TestConfig_oneProblem: of each text one thing is said, or nothing.
func TestConfig_oneProblem(t *testing.T) {
	const (
		noStops   = "agents.a.strategy: react needs stop sequences, and the model m has api: responses, which has none: choose another strategy, or api: chat"
		noStopsIn = "models.m.policy: the format react needs stop sequences, and api: responses has none: choose another format, or api: chat"
		react     = "models: {m: {model: m, api: responses}, c: {model: m}, f: {model: m, fallbacks: [c, m]}}\nagents: {a: {strategy: react, "
		model     = "agents: {a: {}}\nmodels: {m: {model: m, "
	)
	for text, want := range map[string]string{
		"agents: {a: {config: {schema: {name: x, schema: {type: nonsense}}}}}": "1:23: agents.a.config.schema: the schema: ",
		"agents:\n\t- a: [": "it is not YAML: ",

		react + "model: m}}": noStops, react + "model: f}}": noStops, react + "model: m, tools: [read_file]}}": noStops,
		react + "model: c}}": "", react + "model: m, tools: []}}": "",
		"models: {m: {model: m, api: responses}}\nagents: {a: {strategy: react}}": noStops,
		model + "api: responses, policy: react}}":                                 noStopsIn,
		model + "api: responses, policy: hermes}}":                                "",
		model + "policy: react}}":                                                 "",
		model + "api: anthropic, policy: react}}":                                 "",

		model + "summary: auto}}":                                                "is for models with api: responses, and this one has api: chat",
		model + "thinking: {mode: adaptive}}}":                                   "is for models with api: anthropic, and this one has api: chat",
		model + "api: responses, cache: 5m}}":                                    "is for models with api: anthropic, and this one has api: responses",
		model + "api: anthropic, cache: 2h}}":                                    `must be one of "5m", "1h"`,
		model + "api: anthropic, summary: auto}}":                                "is for models with api: responses, and this one has api: anthropic",
		model + "api: anthropic, thinking: {}}}":                                 "mode",
		model + "api: anthropic, thinking: {mode: enabled}}}":                    "is 0; it is at least 1024",
		model + "api: anthropic, thinking: {mode: adaptive, budget: 2000}}}":     "only enabled has a budget",
		model + "api: anthropic, thinking: {mode: disabled, display: omitted}}}": "only adaptive and enabled have it",

		"agents: {one: {config: {handoffs: [{strategy: two}]}}}":                                                                                                          `no agent "two"; there are: one`,
		"agents: {one: {config: {handoffs: [{strategy: one, tool: read_file}]}}}":                                                                                         `there is another tool "read_file"`,
		"agents: {one: {config: {handoffs: [{strategy: one, tool: two}]}, children: [{agent: two}]}, two: {description: x}}":                                              `there is another tool "two"`,
		"agents: {one: {config: {handoffs: [{strategy: one, history: some}]}}}":                                                                                           "history",
		"agents: {one: {config: {handoffs: two}}}":                                                                                                                        "handoffs",
		"agents: {one: {strategy: retry, config: {handoffs: [{strategy: one}]}}}":                                                                                         "handoffs",
		"agents: {one: {strategy: retry, tools: [], children: [{agent: two, as: executor}]}, two: {config: {handoffs: [{strategy: three}]}}, three: {tools: [ask_user]}}": "its tools do not allow ask_user",

		"agents: {a: {}}\nstore: {keep: long}": "2:9: store.keep: must be an age, such as 12h, 30d or 8w",
		"agents: {a: {}}\nstore: runs.db":      "2:1: store: this is a text, and must be a mapping",
	} {
		_, got := parsed(text)
		if want == "" {
			require.Empty(t, got, text)
			continue
		}
		require.Len(t, got, 1, text)
		require.Contains(t, got[0], want, text)
	}
}

// A key of a provider is refused wherever somebody may put it, and no text shows it.
func TestConfig_secrets(t *testing.T) {
	for _, member := range []string{
		"api_key: sk-canary1", "key: canary1", "api_key_env: sk-canary1", "api_key_env: gsk_canary1", "token: {a: canary1}",
		"api_key_env: |sk-canary1 x", "api_key_env: >-sk-canary1", "api_key_env: |\n      sk-canary1\n      y", "api_key_env: \"\\canary1\"",
		"api_key_env: @canary1", "api_key_env: `canary1`", "api_key_env: !canary1{ x", "api_key_env: %canary1", "api_key_env:canary1", "api_key_env=canary1: x",
		"canary1: x\n    canary1: y", "? [canary1]\n    : x", "api_key_env: *canary1", "api_key_env: &canary1 x", "api_key_env: x: canary1",
		"{api_key_env:sk-canary1}: x", "api_key_env: {sk-canary1", "api_key_env: [canary1, {a:canary1}]", "api_key_env:" + strings.Repeat("canary1", 20) + ": x",
		"base_url: 'https://canary1@host/v1'", "base_url: 'https://host/v1?key=canary1'", "secret: [canary1",
	} {
		_, got := parsed("models:\n  m:\n    model: x\n    " + member + "\nagents: {a: {}}\n")
		require.NotEmpty(t, got, member)
		require.NotContains(t, strings.Join(got, "\n"), "canary", member)
	}
	_, got := parsed("models:\n  m:\n    model: x\n    api_key: sk-canary1\nagents: {a: {}}\n")
	require.Equal(t, []string{"4:5: models.m.api_key: " + noKeyHere}, got)
}

func FuzzReadYAML(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: [1, {b: c}]\nd: |\n  x\n", "- - a\n- ? b\n", "a: &x 1\nb: *x", "<<: {a: 1}", "\"a\": 'b'", "1: 2\ntrue: ~", "a:\n---\nb:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, at, problems := readYAML([]byte(text))
		for _, p := range problems {
			require.Positive(t, p.At.Line)
		}
		if len(problems) > 0 {
			return
		}
		_, err := json.Marshal(value)
		require.NoError(t, err)
		require.NotEmpty(t, at)
	})
}
