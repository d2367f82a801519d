package textcut

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBefore(t *testing.T) {
	for at, want := range []int{0, 1, 1, 3, 3, 3, 3, 7, 8, 8} {
		require.Equal(t, want, Before("aé🦊b", at), at)
	}
	require.Equal(t, 5, Before("a\x80\x80\x80\x80\x80\x80", 5), "no character is near")
	require.Equal(t, 1, Before("\x80\x80\x80", 1))
}

func TestAfter(t *testing.T) {
	for at, want := range []int{0, 1, 3, 3, 7, 7, 7, 7, 8, 9} {
		require.Equal(t, want, After("aé🦊b", at), at)
	}
}

func TestShort(t *testing.T) {
	require.Equal(t, "aé", Short("aé", 3))
	require.Equal(t, "a…", Short("aé", 2))
}
