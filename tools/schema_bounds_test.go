package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/tools"
)

// doubling is a schema of n definitions, each of which has a form with two references to the next.
func doubling(n int, form, last, top string) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"$schema":"` + top + `","type":"object","$defs":{`)
	for i := range n {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/n%d"}`, i+1)
		fmt.Fprintf(&b, `"n%d":`+form+`,`, i, ref, ref)
	}
	fmt.Fprintf(&b, `"n%d":%s},"properties":{"x":{"$ref":"#/$defs/n0"}}}`, n, last)
	return json.RawMessage(b.String())
}

// The schema of a stranger holds no CPU, whatever it is made of: the check ends, and says so.
func TestSchema_workIsBounded(t *testing.T) {
	const now, before = "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"
	deep := strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)
	for name, test := range map[string]struct{ form, last, top, value string }{
		"allOf":            {`{"allOf":[%s,%s]}`, `{"type":"string"}`, now, `"a"`},
		"anyOf that fails": {`{"anyOf":[%s,%s]}`, `{"type":"integer"}`, now, `"a"`},
		"oneOf":            {`{"oneOf":[%s,%s]}`, `{"type":"string"}`, now, `"a"`},
		"if and else":      {`{"if":%s,"else":%s}`, `{"type":"integer"}`, now, `"a"`},
		"not in anyOf":     {`{"not":{"anyOf":[%s,%s]}}`, `{"type":"integer"}`, now, `"a"`},
		"patterns":         {`{"patternProperties":{"a":%s,"^a":%s}}`, `{"type":"integer"}`, now, deep},
		"draft 7":          {`{"format":"regex","allOf":[%s,%s]}`, `{"type":"string"}`, before, `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := tools.CompileSchema(doubling(40, test.form, test.last, test.top))
			require.NoError(t, err)
			err = s.Check(`{"x":` + test.value + `}`)
			require.ErrorContains(t, err, "is too much work to check against the schema")
			require.ErrorAs(t, err, new(*tools.SchemaError))

			over, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("the call is over"))
			_, err = s.ArgumentsContext(over, `{"x":`+test.value+`}`)
			require.EqualError(t, err, "the call is over")
			require.NoError(t, s.Check(`{}`), "the next check has all its work to do")

			few, err := tools.CompileSchema(doubling(4, test.form, test.last, test.top))
			require.NoError(t, err)
			if err := few.Check(`{"x":` + test.value + `}`); err != nil {
				require.NotContains(t, err.Error(), "too much work")
			}
		})
	}
	long, err := tools.CompileSchema(json.RawMessage(`{"type":"array","items":{"allOf":[{"minimum":0},{"maximum":9}]}}`))
	require.NoError(t, err)
	require.NoError(t, long.Check("["+strings.Repeat("1,", 90_000)+"1]"), "the longest texts are checked")
}

// endsWithin is a context that ends when it was looked at a number of times.
type endsWithin struct {
	context.Context
	looks int // left; negative after the end
	end   func()
}

func (c *endsWithin) Err() error {
	if c.looks--; c.looks == 0 {
		c.end()
	}
	return c.Context.Err()
}

// Work is counted where the validator comes to a part of the schema by a dynamic reference alone,
// and where it compares a value with much that it does not fit.
func TestSchema_hiddenWorkIsBounded(t *testing.T) {
	bomb := func(n int, last string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"n%d":{"allOf":[{"$ref":"#/$defs/n%d"},{"$ref":"#/$defs/n%d"}]},`, i, i+1, i+1)
		}
		return fmt.Sprintf(`"$defs":{%s"n%d":%s`, b.String(), n, last)
	}
	one, many := `{"a":2}`, "["+strings.Repeat("3,", 40_000)+"3]"
	for name, test := range map[string]struct{ schema, value string }{
		"dynamic anchor": {
			`{"$id":"http://a/root","$ref":"inner",` + bomb(40, `{"type":"object"}`) +
				`,"inner":{"$id":"inner","$dynamicRef":"#node","$defs":{"x":{"$dynamicAnchor":"node"}}},"more":{"$dynamicAnchor":"node","allOf":[{"$ref":"#/$defs/n0"}]}}}`, one,
		},
		"types":  {`{"$ref":"#/$defs/n0",` + bomb(20, `{"anyOf":[`+strings.Repeat(`{"type":"null"},`, 3000)+`{}]}}}`), one},
		"consts": {`{"$ref":"#/$defs/n0",` + bomb(20, `{"anyOf":[`+strings.Repeat(`{"const":1},`, 3000)+`{}]}}}`), one},
		"enum":   {`{"items":{"enum":[` + strings.Repeat(`12345678,`, 6000) + `1]}}`, many},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := tools.CompileSchema(json.RawMessage(test.schema))
			require.NoError(t, err)
			require.ErrorContains(t, s.Check(test.value), "is too much work to check against the schema")
			if name == "enum" {
				return // the first look is too much, and the context is not asked
			}
			over, cancel := context.WithCancelCause(t.Context())
			ends := &endsWithin{Context: over, looks: 3, end: func() { cancel(errors.New("the call is over")) }}
			_, err = s.ArgumentsContext(ends, test.value)
			require.EqualError(t, err, "the call is over")
			require.GreaterOrEqual(t, ends.looks, -2, "the check ends as the context does")
		})
	}
	codes, err := tools.CompileSchema(json.RawMessage(`{"items":{"enum":[` + strings.Repeat(`"AA",`, 249) + `"ZZ"]}}`))
	require.NoError(t, err)
	require.NoError(t, codes.Check("["+strings.Repeat(`"ZZ",`, 10_000)+`"ZZ"]`), "a list of countries, say")
}

// Patterns that repeat much are refused before they are compiled. What is usual is not.
func TestCompileSchema_patterns(t *testing.T) {
	big := strings.Repeat("(a?){1000}", 100)
	for _, schema := range []string{
		`{"pattern":"` + big + `"}`, `{"patternProperties":{"` + big + `":{}}}`,
		`{"allOf":[` + strings.Repeat(`{"pattern":"^(a?){1000}(b?){1000}$"},`, 60) + `{}]}`,
	} {
		_, err := tools.CompileSchema(json.RawMessage(schema))
		require.ErrorContains(t, err, "the schema")
	}
	s, err := tools.CompileSchema(json.RawMessage(`{"items":{"anyOf":[` + strings.Repeat(`{"pattern":"^[a-z]{1,63}$","maxLength":63},`, 200) + `{"pattern":"^.{1000}$"}]}}`))
	require.NoError(t, err)
	require.NoError(t, s.Check(`["`+strings.Repeat("a", 1000)+`"]`))
}

// A schema is compiled in time that its size bounds: a deep one is refused.
func TestCompileSchema_depth(t *testing.T) {
	nested := func(open, end string, n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(open, n) + `{}` + strings.Repeat(end, n))
	}
	for open, end := range map[string]string{`{"items":`: `}`, `{"properties":{"a":`: `}}`, `{"allOf":[`: `]}`, `{"default":`: `}`} {
		_, err := tools.CompileSchema(nested(open, end, 950))
		require.EqualError(t, err, "tools: the schema: is nested deeper than 128 levels")
		_, err = tools.CompileSchema(nested(open, end, 60))
		require.NoError(t, err)
	}
}
