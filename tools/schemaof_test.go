package tools_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/tools"
)

type (
	Place struct {
		City string `json:"city" enum:"oslo,rome" jsonschema:"where"`
		Note string `json:"note,omitempty"`
	}
	place struct {
		City string `json:"city"`
	}
	chain        struct{ Next *chain }
	boxed[T any] struct {
		In T `json:"in"`
	}
	names   []string
	colour  string
	ownJSON struct{ n int }
	ownText int
)

func (o *ownJSON) UnmarshalJSON([]byte) error { o.n++; return nil }

func (o *ownText) UnmarshalText([]byte) error { *o++; return nil }

const (
	placeStrict = `{"type":"object","additionalProperties":false,"required":["city","note"],"properties":{
		"city":{"type":"string","description":"where","enum":["oslo","rome"]},"note":{"type":["null","string"]}}}`
	placeLoose = `{"type":"object","additionalProperties":false,"required":["city"],"properties":{
		"city":{"type":"string","description":"where","enum":["oslo","rome"]},"note":{"type":"string"}}}`
)

// object is the schema of a struct with one required field.
func object(name, schema string) string {
	return `{"type":"object","additionalProperties":false,"required":["` + name + `"],"properties":{"` + name + `":` + schema + `}}`
}

func nullable(schema string) string {
	return `{"type":["null",` + schema[len(`{"type":`):len(`{"type":"object"`)] + `]` + schema[len(`{"type":"object"`):]
}

type schemaCase struct {
	name   string
	make   func() (json.RawMessage, bool, error)
	want   string // the schema, or the end of the error
	strict bool
}

func check(t *testing.T, cases []schemaCase) {
	t.Helper()
	for _, c := range cases {
		schema, strict, err := c.make()
		if c.want[0] != '{' {
			require.ErrorContains(t, err, c.want, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.JSONEq(t, c.want, string(schema), c.name)
		require.Equal(t, c.strict, strict, c.name)
		_, err = tools.CompileSchema(schema)
		require.NoError(t, err, c.name)
	}
}

func TestSchemaOf_structs(t *testing.T) {
	check(t, []schemaCase{
		{"a struct", tools.SchemaOf[Place], placeStrict, true},
		{"a pointer to one", tools.SchemaOf[**Place], placeStrict, true},
		{"embedded", tools.SchemaOf[struct{ Place }], placeStrict, true},
		{"an embedded pointer", tools.SchemaOf[struct{ *Place }], placeStrict, true},
		{"embedded, not exported", tools.SchemaOf[struct{ place }], object("city", `{"type":"string"}`), true},
		{"an embedded pointer, not exported", tools.SchemaOf[struct{ *place }], "the embedded field place: JSON cannot be decoded into an embedded pointer", false},
		{"embedded with a name", tools.SchemaOf[struct {
			Place `json:"place"`
		}], "the embedded field Place: encoding/json treats it as a single field", false},
		{"embedded, and not there", tools.SchemaOf[struct {
			Place `json:"-"`
			B     int
		}], "the embedded field Place", false},
		{"an embedded list", tools.SchemaOf[struct{ names }], "no field", false},
		{"shadowed", tools.SchemaOf[struct {
			place
			City int `json:"city"`
		}], object("city", `{"type":"integer"}`), true},
		{"one name twice", tools.SchemaOf[struct {
			A int `json:"B"`
			B int
		}], `two fields have the name "B" in JSON`, false},
		{"a pointer in it", tools.SchemaOf[boxed[*Place]], object("in", nullable(placeStrict)), true},
		{"lists of lists", tools.SchemaOf[boxed[[][]Place]], object("in", `{"type":"array","items":{"type":"array","items":`+placeStrict+`}}`), true},
		{"a list of pointers", tools.SchemaOf[boxed[[]*Place]], object("in", `{"type":"array","items":`+nullable(placeStrict)+`}`), true},
		{"an array", tools.SchemaOf[boxed[[2]Place]], object("in", `{"type":"array","minItems":2,"maxItems":2,"items":`+placeStrict+`}`), true},
		{"a map", tools.SchemaOf[boxed[map[string]Place]], object("in", `{"type":"object","additionalProperties":`+placeLoose+`}`), false},
		{"nothing in it", tools.SchemaOf[boxed[struct{}]], object("in", `{"type":"object","additionalProperties":false}`), false},
		{"it holds itself", tools.SchemaOf[chain], "no schema for tools_test.chain: it holds a tools_test.chain within itself, which no schema here can say: give the inner one the type json.RawMessage", false},
		{"a list of itself in it", tools.SchemaOf[boxed[[]*chain]], "it holds a tools_test.chain within itself", false},
		{"the same twice", tools.SchemaOf[struct{ A, B place }], `{"type":"object","additionalProperties":false,"required":["A","B"],"properties":{"A":` +
			object("city", `{"type":"string"}`) + `,"B":` + object("city", `{"type":"string"}`) + `}}`, true},
		{"an interface with methods", tools.SchemaOf[boxed[error]], "the field In: JSON cannot be read into the interface error", false},
		{"a map of such", tools.SchemaOf[boxed[map[string][]fmt.Stringer]], "JSON cannot be read into the interface fmt.Stringer", false},
		{"a pointer to a list", tools.SchemaOf[boxed[*[]string]], object("in", `{"type":["null","array"],"items":{"type":"string"}}`), true},
		{"pointers to one", tools.SchemaOf[boxed[**names]], object("in", `{"type":["null","array"],"items":{"type":"string"}}`), true},
		{"a list of pointers to lists", tools.SchemaOf[boxed[[]*names]], object("in", `{"type":"array","items":{"type":["null","array"],"items":{"type":"string"}}}`), true},
		{"a list", tools.SchemaOf[[]Place], "put the []tools_test.Place into a struct", false},
		{"it reads its own JSON", tools.SchemaOf[ownJSON], "put the tools_test.ownJSON into a struct", false},
		{"a time", tools.SchemaOf[time.Time], "put the time.Time into a struct", false},
		{"an interface", tools.SchemaOf[any], "put the interface {} into a struct", false},
		{"no field", tools.SchemaOf[struct{ a int }], "no field that JSON is read into", false},
	})
}

func TestSchemaOf_fields(t *testing.T) {
	check(t, []schemaCase{
		{"not there", tools.SchemaOf[struct {
			A func() `json:"-" enum:"x"`
			b any    `enum:"y"`
			B int    `json:"b"`
		}], object("b", `{"type":"integer"}`), true},
		{"omitzero", tools.SchemaOf[struct {
			P Place `json:"p,omitzero"`
		}], object("p", nullable(placeStrict)), true},
		{"times", tools.SchemaOf[boxed[time.Time]], object("in", `{"type":"string","format":"date-time"}`), true},
		{"a time or none", tools.SchemaOf[boxed[*time.Time]], object("in", `{"type":["null","string"],"format":"date-time"}`), true},
		{"its own text", tools.SchemaOf[boxed[ownText]], object("in", `{"type":"string"}`), true},
		{"its own JSON", tools.SchemaOf[boxed[ownJSON]], object("in", `{"description":"any JSON"}`), false},
		{"bytes", tools.SchemaOf[boxed[[]byte]], object("in", `{"type":"string","contentEncoding":"base64"}`), false},
		{"anything", tools.SchemaOf[boxed[any]], object("in", `{"description":"any JSON"}`), false},
		{"a quoted number", tools.SchemaOf[struct {
			N *int `json:"n,string"`
		}], object("n", `{"type":["null","string"],"pattern":"^-?(0|[1-9][0-9]*)$"}`), true},
		{"a quoted bool", tools.SchemaOf[struct {
			N bool `json:"n,string"`
		}], object("n", `{"type":"string","pattern":"^(true|false)$"}`), true},
		{"a quoted string", tools.SchemaOf[struct {
			N string `json:"n,string"`
		}], "cannot be used for a string", false},
	})
}

func TestSchemaOf_enums(t *testing.T) {
	check(t, []schemaCase{
		{"a string", tools.SchemaOf[struct {
			E string `json:"e" enum:"a, b"`
		}], object("e", `{"type":"string","enum":["a","b"]}`), true},
		{"a type of its own", tools.SchemaOf[struct {
			E colour `json:"e" enum:"a,b"`
		}], object("e", `{"type":"string","enum":["a","b"]}`), true},
		{"a type with a text of its own", tools.SchemaOf[struct {
			E ownText `json:"e" enum:"a,b"`
		}], object("e", `{"type":"string","enum":["a","b"]}`), true},
		{"a pointer", tools.SchemaOf[struct {
			E *string `json:"e" enum:"a,b"`
		}], object("e", `{"type":["null","string"],"enum":["a","b",null]}`), true},
		{"a pointer that need not be there", tools.SchemaOf[struct {
			E *string `json:"e,omitempty" enum:"a,b"`
		}], object("e", `{"type":["null","string"],"enum":["a","b",null]}`), true},
		{"a string that need not be there", tools.SchemaOf[struct {
			E string `json:"e,omitzero" enum:"a,b"`
		}], object("e", `{"type":["null","string"],"enum":["a","b",null]}`), true},
		{"a list", tools.SchemaOf[struct {
			E []string `json:"e" enum:"a,b"`
		}], object("e", `{"type":"array","items":{"type":"string","enum":["a","b"]}}`), true},
		{"a list that need not be there", tools.SchemaOf[struct {
			E []string `json:"e,omitempty" enum:"a,b"`
		}], object("e", `{"type":["null","array"],"items":{"type":"string","enum":["a","b"]}}`), true},
		{"a list of pointers", tools.SchemaOf[struct {
			E []*string `json:"e" enum:"a,b"`
		}], object("e", `{"type":"array","items":{"type":["null","string"],"enum":["a","b",null]}}`), true},
		{"lists of lists", tools.SchemaOf[struct {
			E [][]string `enum:"a,b"`
		}], "the field E: its tag enum: only strings can have one", false},
		{"a map", tools.SchemaOf[struct {
			E map[string]string `enum:"a,b"`
		}], "only strings can have one", false},
		{"a number", tools.SchemaOf[struct {
			E int `enum:"1,2"`
		}], "only strings can have one", false},
		{"one twice", tools.SchemaOf[struct {
			E string `enum:"a,b,a"`
		}], "an empty or repeated value", false},
		{"none", tools.SchemaOf[struct {
			E string `enum:""`
		}], "an empty or repeated value", false},
	})
}
