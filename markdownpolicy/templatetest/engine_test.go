package templatetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nikolalohinski/gonja/v2"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/stretchr/testify/require"
)

// run runs a template as the library transformers does.
func run(t *testing.T, source string, conversation []any) string {
	t.Helper()
	loader, err := loaders.NewMemoryLoader(map[string]string{"/chat": source})
	require.NoError(t, err)
	settings := config.New()
	settings.TrimBlocks, settings.LeftStripBlocks = true, true
	environment := *gonja.DefaultEnvironment
	environment.Filters = exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(gonja.DefaultEnvironment.Filters)
	require.NoError(t, environment.Filters.Replace("tojson", func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
		return exec.AsSafeValue(pythonJSON(in.ToGoSimpleType(false)))
	}))
	template, err := exec.NewTemplate("/chat", settings, loader, &environment)
	require.NoError(t, err)
	prompt, err := template.ExecuteToString(exec.NewContext(map[string]any{
		"messages": conversation, "bos_token": "", "add_generation_prompt": false,
		"strftime_now":    func(string) string { return "2026-11-23" },
		"raise_exception": func(why string) (string, error) { return "", errors.New(why) },
	}))
	require.NoError(t, err)
	return prompt
}

// pythonJSON writes a value as json.dumps of Python does.
func pythonJSON(value any) string {
	var parts []string
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			parts = append(parts, pythonJSON(key)+": "+pythonJSON(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, element := range v {
			parts = append(parts, pythonJSON(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
}
