package frame_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

func TestCount(t *testing.T) {
	require.Equal(t, 3, frame.Count(0, 3))
	require.Equal(t, 0, frame.Count(-1, 3))
	require.Equal(t, 7, frame.Count(7, 3))
}

func TestOneOf(t *testing.T) {
	type choice string
	c := choice("")
	require.NoError(t, frame.OneOf("p", "F", &c, "x", "y"))
	require.Equal(t, choice("x"), c)
	c = "z"
	require.EqualError(t, frame.OneOf("p", "F", &c, "x", "y"), `p: F: "z" is not one of ["x" "y"]`)
}

func TestDistinct(t *testing.T) {
	require.NoError(t, frame.Distinct("p", "F", nil))
	require.NoError(t, frame.Distinct("p", "F", []string{"a", "b"}))
	require.EqualError(t, frame.Distinct("p", "F", []string{"a", "b", "a", "b", "a"}), `p: F: names ["a" "b"] more than once: leave out all but one`)
}

func TestTools(t *testing.T) {
	may := []tools.Definition{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	all, err := frame.Tools("p", may, nil)
	require.NoError(t, err)
	require.Equal(t, may, all)
	none, err := frame.Tools("p", may, []string{})
	require.NoError(t, err)
	require.Empty(t, none)
	some, err := frame.Tools("p", may, []string{"c", "a"})
	require.NoError(t, err)
	require.Equal(t, []tools.Definition{{Name: "c"}, {Name: "a"}}, some)
	_, err = frame.Tools("p", may, []string{"x", "a", "y"})
	require.ErrorContains(t, err, `p: may not use the tools ["x" "y"]`)
	once, err := frame.Tools("p", may, []string{"a", "x", "a"})
	require.ErrorContains(t, err, `p: Tools: names ["a"] more than once`)
	require.ErrorContains(t, err, `p: may not use the tools ["x"]`)
	require.Equal(t, []tools.Definition{{Name: "a"}}, once)
}
