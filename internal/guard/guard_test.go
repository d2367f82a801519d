package guard_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/guard"
)

// posing has the method of runtime.Error but is not an error of the Go runtime.
type posing struct{ error }

func (posing) RuntimeError() {}

func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestRuntimeText(t *testing.T) {
	var list []int
	absent := func() map[string]int { return nil }
	for want, f := range map[string]func(){
		"runtime error: index out of range [3] with length 0":   func() { list[3]++ },
		"assignment to entry in nil map":                        func() { absent()["a"]++ },
		"panic called with nil argument":                        func() { panic(nil) },
		"interface conversion: interface {} is string, not int": func() { _ = any("a").(int) },
	} {
		text, ok := guard.RuntimeText(recovered(f))
		require.True(t, ok)
		require.Equal(t, want, text)
	}
	for _, value := range []any{
		nil, "secret", errors.New("secret"), posing{errors.New("secret")}, &posing{errors.New("secret")}, (*posing)(nil), (*runtime.TypeAssertionError)(nil),
	} {
		text, ok := guard.RuntimeText(value)
		require.False(t, ok, "%T", value)
		require.Empty(t, text)
	}
}

// circle wraps itself at every call.
type circle struct{}

func (circle) Error() string   { return "circle" }
func (c circle) Unwrap() error { return c }

// tangle wraps itself twice.
type tangle struct{}

func (tangle) Error() string     { return "tangle" }
func (t tangle) Unwrap() []error { return []error{t, t} }

func TestFinite(t *testing.T) {
	plain := errors.New("plain")
	joined := errors.Join(plain, fmt.Errorf("%w and %w", plain, errors.Join(plain, plain)))
	deep := plain
	for range 1000 {
		deep = fmt.Errorf("%w", deep)
	}
	for _, err := range []error{nil, plain, joined, deep} {
		require.True(t, guard.Finite(err), "%v", err)
	}
	for _, err := range []error{circle{}, tangle{}, fmt.Errorf("%w", circle{}), errors.Join(plain, tangle{}, plain)} {
		require.False(t, guard.Finite(err), "%v", err)
	}
}
