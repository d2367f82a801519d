package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
)

func TestSchemaCheck(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, tt := range map[string]struct {
		schema, text string
		want         []tools.Problem
	}{
		"fits":                      {`{"type":"string"}`, `"a"`, nil},
		"fits a reference":          {`{"$ref":"#/$defs/a","$defs":{"a":{"minimum":2}}}`, `2`, nil},
		"an integer in other words": {`{"type":"integer"}`, `1.0`, nil},
		"not JSON":                  {`{}`, `x`, []tools.Problem{{Message: "not JSON: unexpected 'x' at byte 0"}}},
		"type":                      {`{"type":["string","null"]}`, `{}`, []tools.Problem{{Message: "got object, want null or string"}}},
		"never":                     {`{"properties":{"a":false}}`, `{"a":1}`, []tools.Problem{{Pointer: "/a", Message: "not allowed here"}}},
		"enum":                      {`{"enum":["a",1,null]}`, `"b"`, []tools.Problem{{Message: `must be one of "a", 1, null`}}},
		"a long enum":               {`{"enum":["` + long + `"]}`, `"b"`, []tools.Problem{{Message: `must be one of "` + long[:184] + "…"}}},
		"const":                     {`{"const":"a"}`, `"b"`, []tools.Problem{{Message: `must be "a"`}}},
		"bounds":                    {`{"items":{"minimum":1,"exclusiveMaximum":3}}`, `[0,3]`, []tools.Problem{{Pointer: "/0", Message: "must be at least 1"}, {Pointer: "/1", Message: "must be less than 3"}}},
		"more bounds":               {`{"items":{"maximum":1.5,"exclusiveMinimum":-3}}`, `[-3,3]`, []tools.Problem{{Pointer: "/0", Message: "must be more than -3"}, {Pointer: "/1", Message: "must be at most 3/2"}}},
		"multiple":                  {`{"multipleOf":2}`, `3`, []tools.Problem{{Message: "must be a multiple of 2"}}},
		"length":                    {`{"items":{"minLength":2,"maxLength":3}}`, `["é","abcd"]`, []tools.Problem{{Pointer: "/0", Message: "has 1 characters, want at least 2"}, {Pointer: "/1", Message: "has 4 characters, want at most 3"}}},
		"items":                     {`{"items":{"minItems":2,"maxItems":3,"uniqueItems":true}}`, `[[1],[1,2,3,4],[1,1]]`, []tools.Problem{{Pointer: "/0", Message: "has 1 items, want at least 2"}, {Pointer: "/1", Message: "has 4 items, want at most 3"}, {Pointer: "/2", Message: "items 0 and 1 are equal"}}},
		"properties":                {`{"items":{"minProperties":1,"maxProperties":1}}`, `[{},{"a":1,"b":2}]`, []tools.Problem{{Pointer: "/0", Message: "has 0 properties, want at least 1"}, {Pointer: "/1", Message: "has 2 properties, want at most 1"}}},
		"property names":            {`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []tools.Problem{{Message: "has 2 characters, want at most 1"}, {Message: `the name "ab" is not allowed`}}},
		"dependent":                 {`{"dependentRequired":{"a":["b","c"]}}`, `{"a":1}`, []tools.Problem{{Message: `missing "b", "c", needed with "a"`}}},
		"any of":                    {`{"anyOf":[{"type":"string"},{"minimum":5}]}`, `1`, []tools.Problem{{Message: "fits none of the forms allowed"}, {Message: "got number, want string"}, {Message: "must be at least 5"}}},
		"one of, both":              {`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, []tools.Problem{{Message: "fits more than one of the forms allowed"}}},
		"not":                       {`{"not":{"type":"string"}}`, `"a"`, []tools.Problem{{Message: "has a form that is not allowed"}}},
		"contains":                  {`{"contains":{"const":1}}`, `[]`, []tools.Problem{{Message: "breaks the rule contains"}}},
		"pointer escapes":           {`{"additionalProperties":{"type":"null"}}`, `{"a/b~\n":1}`, []tools.Problem{{Pointer: `/a~1b~0\n`, Message: "got number, want null"}}},
		"a long name":               {`{"additionalProperties":{"type":"null"}}`, `{"` + long + `":1}`, []tools.Problem{{Pointer: "/" + long[:40] + "…", Message: "got number, want null"}}},
		"format is a remark":        {`{"format":"email"}`, `"x"`, nil},
		"draft 7 asserts it":        {`{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`, `"x"`, []tools.Problem{{Message: "is not a valid email"}}},
	} {
		t.Run(name, func(t *testing.T) {
			schema, err := tools.CompileSchema(json.RawMessage(tt.schema))
			require.NoError(t, err)
			err = schema.Check(tt.text)
			if tt.want == nil {
				require.NoError(t, err)
				return
			}
			var misfit *tools.SchemaError
			require.ErrorAs(t, err, &misfit)
			require.Equal(t, tt.want, misfit.Problems)
			require.ErrorContains(t, err, "tools: the JSON does not fit the schema:")
		})
	}
}

func TestCompileSchemaErrors(t *testing.T) {
	for schema, want := range map[string]string{
		``:                              "tools: the schema is not JSON",
		`{`:                             "tools: the schema is not JSON",
		`{"type":"strin"}`:              "tools: the schema: ",
		`{"pattern":"("}`:               "tools: the schema: ",
		`{"$ref":"#/$defs/a"}`:          "tools: the schema: ",
		`{"$ref":"file:///etc/passwd"}`: "refers to another document",
		`{"$ref":"other.json"}`:         "refers to another document",
	} {
		_, err := tools.CompileSchema(json.RawMessage(schema))
		require.ErrorContains(t, err, want, schema)
	}
}
