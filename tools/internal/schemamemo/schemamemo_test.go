package schemamemo

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/waittest"
)

func TestMemo(t *testing.T) {
	var m Memo[string]
	count := 0
	compile := func(text string) *string {
		t.Helper()
		compiled, err := m.Compile([]byte(text), func() (*string, error) {
			count++
			return &text, nil
		})
		require.NoError(t, err)
		require.Equal(t, text, *compiled)
		return compiled
	}
	first := compile("used")
	require.Same(t, first, compile("used"))
	require.Equal(t, 1, count)

	for i := range 100 { // more than two generations hold
		compile(strconv.Itoa(i) + strings.Repeat("x", Bytes/10))
		require.Same(t, first, compile("used"), "what is used stays")
		require.LessOrEqual(t, m.bytes, Bytes)
		require.LessOrEqual(t, len(m.young)+len(m.old), 22)
	}
	require.Equal(t, 101, count)
	compile("0" + strings.Repeat("x", Bytes/10))
	require.Equal(t, 102, count, "what is not used is forgotten")

	long := strings.Repeat("x", Bytes+1)
	compile(long)
	compile(long)
	require.Equal(t, 104, count, "what does not fit is not kept")
	require.Same(t, first, compile("used"), "and displaces nothing")
}

func TestMemo_errorsAgain(t *testing.T) {
	var m Memo[string]
	for range 2 {
		_, err := m.Compile([]byte("bad"), func() (*string, error) { return nil, errors.New("bad") })
		require.EqualError(t, err, "bad")
	}
}

func TestMemo_ownsItsTexts(t *testing.T) {
	var m Memo[string]
	text := []byte("before")
	compile := func() (*string, error) { s := string(text); return &s, nil }
	first, _ := m.Compile(text, compile)
	copy(text, "after!")
	second, _ := m.Compile(text, compile)
	require.Equal(t, []string{"before", "after!"}, []string{*first, *second})
}

func TestMemo_together(t *testing.T) {
	var m Memo[string]
	var together sync.WaitGroup
	for range 8 {
		together.Go(func() {
			for i := range 50 {
				text := strconv.Itoa(i%5) + strings.Repeat("x", Bytes/3)
				if compiled, err := m.Compile([]byte(text), func() (*string, error) { return &text, nil }); err != nil || *compiled != text {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	waittest.All(t, &together)
}
