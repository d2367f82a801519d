package templatetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// allTurns is how many turns a conversation has.
const allTurns = 3

// eachTemplate runs a test for each template written for it, and each published one. Of those
// written for it, no difference is known.
func eachTemplate(t *testing.T, test func(t *testing.T, f format, source string)) {
	t.Helper()
	folders := []string{"testdata"}
	if published := os.Getenv("SEGUE_CHAT_TEMPLATES"); published != "" {
		folders = append(folders, published)
	}
	for i, folder := range folders {
		for _, f := range formats() {
			if f.turns == 0 || i == 0 {
				f.turns = allTurns
			}
			if i == 0 {
				f.differences = nil
			}
			files, err := filepath.Glob(filepath.Join(folder, f.name+".jinja"))
			require.NoError(t, err)
			require.True(t, i > 0 || len(files) == 1, f.name)
			more, err := filepath.Glob(filepath.Join(folder, f.name+"@*.jinja"))
			require.NoError(t, err)
			for _, file := range append(files, more...) {
				t.Run(filepath.Base(folder)+"/"+strings.TrimSuffix(filepath.Base(file), ".jinja"), func(t *testing.T) {
					source, err := os.ReadFile(file)
					require.NoError(t, err)
					test(t, f, string(source))
				})
			}
		}
	}
}

// TestS2_19_TemplatesTellTheSame renders each conversation by a template and by the policy.
func TestS2_19_TemplatesTellTheSame(t *testing.T) {
	eachTemplate(t, func(t *testing.T, f format, source string) {
		if !strings.Contains(source, "tool_calls") {
			t.Skip("the template has no calls")
		}
		for turns := 1; turns <= f.turns; turns++ {
			h := f.history(turns)
			theirs, ours := strings.TrimSuffix(fromQuestion(run(t, source, f.native(t, h, source))), f.open), fromQuestion(f.told(t, h))
			for _, d := range f.differences {
				if mended := d.mend(theirs); theirs != ours && mended != theirs {
					t.Log(d.about)
					theirs = mended
				}
			}
			require.Equal(t, theirs, ours)
		}
	})
}

// TestS2_1_WhatTemplatesTellIsReadBack parses the replies in what a template renders.
func TestS2_1_WhatTemplatesTellIsReadBack(t *testing.T) {
	eachTemplate(t, func(t *testing.T, f format, source string) {
		if !strings.Contains(source, "tool_calls") {
			t.Skip("the template has no calls")
		}
		for turns := 1; turns <= f.turns; turns++ {
			h := f.history(turns)
			f.requireReadBack(t, h, f.replies(fromQuestion(run(t, source, f.native(t, h, source)))))
		}
	})
}

// TestS2_1_WhatIsToldIsReadBack parses past replies as they are told.
func TestS2_1_WhatIsToldIsReadBack(t *testing.T) {
	for _, f := range formats() {
		for turns := 1; turns <= allTurns; turns++ {
			h := f.history(turns)
			past, err := f.policy.FormatQuery(h)
			require.NoError(t, err)
			var replies []string
			for _, m := range past {
				if reply, ok := m.(messages.Assistant); ok {
					replies = append(replies, reply.Text())
				}
			}
			f.requireReadBack(t, h, replies)
		}
	}
}

// TestS2_19_TemplatesTakeWhatIsTold passes what a policy tells through a template, as a server
// does: each text is in the prompt. What precedes it in a reply, the thought, may be left out.
func TestS2_19_TemplatesTakeWhatIsTold(t *testing.T) {
	eachTemplate(t, func(t *testing.T, f format, source string) {
		if harmony, ok := f.policy.(markdownpolicy.Format); ok && harmony.Name() == "harmony" {
			harmony.ForgetThoughts = true
			f.policy, f.history = harmony, conversation
		}
		for turns := 1; turns <= allTurns; turns++ {
			past, err := f.policy.FormatQuery(f.history(turns))
			require.NoError(t, err)
			prompt := run(t, source, f.native(t, past, source))
			at := 0
			for _, m := range past {
				text := said(m)
				if _, behind, ok := strings.Cut(text, "</think>"); ok {
					text = strings.TrimSpace(behind)
				}
				i := strings.Index(prompt[at:], text)
				require.GreaterOrEqual(t, i, 0, "%q in %q", text, prompt[at:])
				at += i + len(text)
			}
			if f.name == "gemma" {
				require.Equal(t, f.told(t, f.history(turns)), strings.TrimPrefix(prompt, "<bos>"))
			}
		}
	})
}

// said returns the text of a message of the user or the assistant.
func said(m messages.Message) string {
	switch m := m.(type) {
	case messages.User:
		return m.Text()
	case messages.Assistant:
		return m.Text()
	default:
		return ""
	}
}

// requireReadBack parses replies, which must be those of a history, but for thoughts.
func (f format) requireReadBack(t *testing.T, h messages.History, replies []string) {
	t.Helper()
	var want, got []messages.AssistantContent
	for _, text := range replies {
		doc, err := f.policy.ParseResponse(text)
		require.NoError(t, err, text)
		got = append(got, plain(doc.Contents())...)
	}
	for _, m := range h {
		if reply, ok := m.(messages.Assistant); ok {
			want = append(want, plain(reply.Content)...)
		}
	}
	require.Equal(t, want, got, f.name)
}

// replies returns the texts of the assistant's turns in a prompt.
func (f format) replies(prompt string) (all []string) {
	const cut = "\x00"
	for _, end := range f.ends {
		prompt = strings.ReplaceAll(prompt, end, cut+end)
	}
	for turn := range strings.SplitSeq(prompt, cut) {
		from := -1
		for _, begin := range f.begins {
			if at := strings.LastIndex(turn, begin); at >= 0 {
				from = max(from, at+len(begin))
			}
		}
		if from >= 0 && strings.TrimSpace(turn[from:]) != "" {
			all = append(all, turn[from:])
		}
	}
	return all
}

// plain returns parts without thoughts, ids and the blanks in arguments.
func plain(parts []messages.AssistantContent) (out []messages.AssistantContent) {
	for _, p := range parts {
		switch p := p.(type) {
		case messages.ToolCall:
			p.ID, p.Arguments = "", strings.ReplaceAll(p.Arguments, " ", "")
			out = append(out, p)
		case messages.Text:
			out = append(out, p)
		default:
		}
	}
	return out
}

// fromQuestion leaves out what precedes the first question.
func fromQuestion(prompt string) string { return prompt[strings.Index(prompt, question):] }

// told returns what FormatQuery tells, with the marks of turns.
func (f format) told(t *testing.T, h messages.History) string {
	t.Helper()
	past, err := f.policy.FormatQuery(h)
	require.NoError(t, err)
	var b strings.Builder
	asked := false
	for _, m := range past {
		switch m := m.(type) {
		case messages.Assistant:
			b.WriteString(f.assistant(m.Text(), asked))
			asked = false
		case messages.User:
			isQuestion := slices.ContainsFunc(h, func(o messages.Message) bool {
				u, ok := o.(messages.User)
				return ok && u.Text() == m.Text()
			})
			if asked = isQuestion; asked {
				b.WriteString(f.user(m.Text()))
			} else {
				b.WriteString(f.results(m.Text()))
			}
		}
	}
	return b.String()
}

// native returns messages as servers pass them to a chat template. Some pass arguments as text;
// those with templates that write them as JSON pass objects.
func (f format) native(t *testing.T, h messages.History, source string) (all []any) {
	t.Helper()
	texts := f.texts && !strings.Contains(source, "['arguments']|tojson")
	for _, m := range h {
		switch m := m.(type) {
		case messages.User:
			all = append(all, map[string]any{"role": "user", "content": m.Text()})
		case messages.Tool:
			result := map[string]any{"role": "tool", "tool_call_id": m.CallID, "content": m.Output}
			if f.named {
				result["name"] = m.ToolName
			}
			all = append(all, result)
		case messages.Assistant:
			message := map[string]any{"role": "assistant", "content": m.Text()}
			if thought := m.Thought(); thought != "" {
				message["reasoning_content"], message["thinking"] = thought, thought
			}
			var calls []any
			for _, c := range m.Calls() {
				var arguments any = c.Arguments
				if !texts {
					require.NoError(t, json.Unmarshal([]byte(c.Arguments), &arguments))
				}
				calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": arguments}})
			}
			if calls != nil {
				message["tool_calls"] = calls
			}
			all = append(all, message)
		}
	}
	return all
}
