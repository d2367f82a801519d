package wire

import "github.com/segue-go/segue/internal/jsonform"

// NoIndex stands for an index that is missing.
const NoIndex = -1

// Cursor reads the JSON of answers.
type Cursor struct{ jsonform.Cursor }

// Begin sets the cursor to the start of b.
func (c *Cursor) Begin(b []byte) { c.Cursor.Begin(b, MaxDepth) }

// Nested reads a raw object or list, which begins with the mark. It returns nil for another value.
func (c *Cursor) Nested(mark byte) []byte {
	is := c.Peek() == mark
	if raw := c.Raw(); is {
		return raw
	}
	return nil
}

// Present reads a raw value, or nil if it is null, false, "", {} or [].
func (c *Cursor) Present() []byte {
	switch raw := c.Raw(); string(raw) {
	case "null", "false", `""`, "{}", "[]":
		return nil
	default:
		return raw
	}
}

// Arguments reads arguments as a string of JSON, the correct form, or as JSON itself.
func (c *Cursor) Arguments() []byte {
	switch c.Peek() {
	case '"':
		return c.Text()
	case 'n':
		c.Skip()
		return nil
	default:
		return c.Raw()
	}
}

// Index reads an index, or NoIndex if the value is none.
func (c *Cursor) Index() int64 {
	if n, ok := c.Integer(); ok && n >= 0 {
		return n
	}
	return NoIndex
}

// Count reads a number of tokens, or 0 if the value is not a number.
func (c *Cursor) Count() int64 {
	n, _ := c.Integer()
	return min(max(n, 0), 1<<53) // small enough that sums do not overflow
}

// CountIn reads the number of tokens that an object has under a name.
func (c *Cursor) CountIn(name string) (n int64) {
	for more := c.Open('{'); more; more = c.More('}') {
		if string(c.Name()) == name {
			n = c.Count()
		}
	}
	return n
}

// OrElse returns b, or else the other if b is empty.
func OrElse(b, other []byte) []byte {
	if len(b) > 0 {
		return b
	}
	return other
}
