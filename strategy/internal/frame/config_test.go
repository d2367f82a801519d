package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/config"
	"github.com/segue-go/segue/tools"
)

func TestOr_Count(t *testing.T) {
	require.Equal(t, "b", config.Or("", "b"))
	require.Equal(t, "a", config.Or("a", "b"))
	require.Equal(t, 3, config.Count(0, 3))
	require.Equal(t, 0, config.Count(-1, 3))
	require.Equal(t, 7, config.Count(7, 3))
}

func TestOneOf(t *testing.T) {
	type choice string
	c := choice("")
	require.NoError(t, config.OneOf("p", "F", &c, "x", "y"))
	require.Equal(t, choice("x"), c)
	c = "z"
	require.EqualError(t, config.OneOf("p", "F", &c, "x", "y"), `p: F: "z" is not one of ["x" "y"]`)
}

func TestDistinct(t *testing.T) {
	require.NoError(t, config.Distinct("p", "F", nil))
	require.NoError(t, config.Distinct("p", "F", []string{"a", "b"}))
	require.EqualError(t, config.Distinct("p", "F", []string{"a", "b", "a", "b", "a"}), `p: F: names ["a" "b"] more than once: leave out all but one`)
}

func TestPrompts(t *testing.T) {
	type data struct{ Goal string }
	p, err := config.Parse("p",
		config.Prompt{Name: "A", Default: " Do {{.Goal}}. ", Sample: data{}},
		config.Prompt{Name: "B", Text: "Mine.", Default: "Yours."},
	)
	require.NoError(t, err)
	text, err := p.Fill("A", data{"it"})
	require.NoError(t, err)
	require.Equal(t, "Do it.", text)
	text, err = p.Fill("B", nil)
	require.NoError(t, err)
	require.Equal(t, "Mine.", text)

	_, err = config.Parse("p", config.Prompt{Name: "A", Text: "{{.Nothing}}", Sample: data{}}, config.Prompt{Name: "B", Text: "{{"})
	require.ErrorContains(t, err, "p: Prompts: template: A")
	require.ErrorContains(t, err, "template: B")
	_, err = config.Parse("p", config.Prompt{Name: "A", Text: "{{.nothing}}", Sample: map[string]any{}})
	require.ErrorContains(t, err, "nothing")
}

func TestTools(t *testing.T) {
	may := []tools.Definition{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	all, err := config.Tools("p", may, nil)
	require.NoError(t, err)
	require.Equal(t, may, all)
	none, err := config.Tools("p", may, []string{})
	require.NoError(t, err)
	require.Empty(t, none)
	some, err := config.Tools("p", may, []string{"c", "a"})
	require.NoError(t, err)
	require.Equal(t, []tools.Definition{{Name: "c"}, {Name: "a"}}, some)
	_, err = config.Tools("p", may, []string{"x", "a", "y"})
	require.ErrorContains(t, err, `p: may not use the tools ["x" "y"]`)
	once, err := config.Tools("p", may, []string{"a", "x", "a"})
	require.ErrorContains(t, err, `p: Tools: names ["a"] more than once`)
	require.ErrorContains(t, err, `p: may not use the tools ["x"]`)
	require.Equal(t, []tools.Definition{{Name: "a"}}, once)
}
