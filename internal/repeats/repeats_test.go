package repeats_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/growth"
	"github.com/segue-go/segue/internal/repeats"
)

// cutAt returns after how many bytes of a text it is too much, told in pieces of n bytes; -1:
// never.
func cutAt(text string, n int) int {
	t := repeats.Tail{Bounds: repeats.Usual}
	for at := 0; at < len(text); at += n {
		if t.Add(text[at:min(len(text), at+n)]) {
			return min(len(text), at+n)
		}
	}
	return -1
}

// TestTail_repeats notices blocks of all sizes, wherever they begin, as soon as they are too much.
func TestTail_repeats(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%x ", random.Uint64()>>random.IntN(60))
		}
		return b.String()[:n]
	}
	for _, size := range []int{1, 2, 3, 7, 31, 100, 170, 171, 255, 256, 257, 400, 511, 512} {
		for _, before := range []int{0, 1, 511, 512, 700, 5000} {
			block, head := words(size), words(before)+"#"
			most := max(4<<10, 24*size)
			text := head + strings.Repeat(block, (most+size)/size+2)
			require.InDelta(t, len(head)+most+1, cutAt(text, 1), float64(size), "block %d after %d", size, before)
			require.Equal(t, -1, cutAt(text[:len(head)+most-1], 1), "block %d after %d", size, before)
			require.Equal(t, len(text), cutAt(text, len(text)))
			once := repeats.Once(text)
			require.True(t, strings.HasPrefix(text, once))
			require.Less(t, len(once), len(head)+2*size+4, "block %d after %d", size, before)
			require.GreaterOrEqual(t, len(once), len(head), "block %d after %d", size, before)
		}
	}
}

// TestTail_wanted lets pass what people want: long texts that are alike, but not the same.
func TestTail_wanted(t *testing.T) {
	lines := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i) + "\n")
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"numbers":     lines(9000, func(i int) string { return fmt.Sprint(i + 1) }),
		"dots":        lines(400, func(i int) string { return fmt.Sprintf("Chapter %d %s %d", i, strings.Repeat(".", 60), i*7) }),
		"hex dump":    lines(2000, func(i int) string { return fmt.Sprintf("%08x  %s", i*16, strings.Repeat("00 ", 16)) }),
		"table":       lines(900, func(i int) string { return fmt.Sprintf("| %d | 0 | 0 | 0 | yes | %s |", i, strings.Repeat("-", 30)) }),
		"zeros":       lines(1, func(int) string { return strings.Repeat("0", 4000) }),
		"list":        strings.Repeat("- [ ] to do\n", 300),
		"long list":   strings.Repeat("- "+strings.Repeat("as long as a paragraph, ", 15)+"and no longer.\n", 24),
		"rule":        strings.Repeat("=", 4<<10),
		"code":        lines(700, func(i int) string { return fmt.Sprintf("\tcase %d:\n\t\treturn nil, errors.New(\"not done\")", i) }),
		"long blocks": strings.Repeat(lines(20, func(i int) string { return fmt.Sprint("verse ", i, " of a song whose refrain comes back") }), 40),
		"base64":      base64.StdEncoding.EncodeToString([]byte(lines(2000, func(i int) string { return fmt.Sprint(i, " zeros 000000000000000") }))),
		"empty":       "",
	} {
		require.Equal(t, -1, cutAt(text, 5), name)
	}
	for _, text := range []string{"", "A short one.", strings.Repeat("ha", 100)} {
		require.Equal(t, text, repeats.Once(text))
	}
	require.Equal(t, "Ja: ü€", repeats.Once("Ja: "+strings.Repeat("ü€", 2000)), "whole characters")
}

// TestTail_anew notices repetition that begins after another one has ended.
func TestTail_anew(t *testing.T) {
	text := strings.Repeat("ab ", 1300) + "but now " + strings.Repeat("aab ", 1000) + "and " + strings.Repeat("ab ", 1400)
	require.InDelta(t, len(text)-3*1400+4<<10, cutAt(text, 1), 8)
	var tail repeats.Tail
	tail.Bounds = repeats.Bounds{Block: 8, Times: 3, Bytes: 10}
	require.False(t, tail.Add("1234567812345678"), "twice the longest block counts in any case")
	require.False(t, tail.Add("12345678"))
	require.True(t, tail.Add("1"))
	tail.Reset()
	require.Zero(t, tail.Size)
	require.False(t, tail.Add("12345678"))
}

// TestGrowth_tail counts the work: it is linear whatever the text is.
func TestGrowth_tail(t *testing.T) {
	costs := growth.Of(t)
	for name, text := range map[string]func(i int) string{
		"the same":     func(int) string { return "a" },
		"nearly":       func(i int) string { return strings.Repeat("a", 511) + string(rune('b'+i%9)) },
		"blocks apart": func(i int) string { return strings.Repeat(strings.Repeat("ab", 200)+"c", 3) + fmt.Sprint(i) },
		"numbers":      func(i int) string { return fmt.Sprint(i, " ") },
	} {
		t.Run(name, func(t *testing.T) {
			costs.AreLinear(t, 4000, func(size int) {
				tail := repeats.Tail{Bounds: repeats.Usual}
				for i := 0; tail.Size < size; i++ {
					tail.Add(text(i))
				}
			})
		})
	}
}
