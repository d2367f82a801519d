package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/tools"
)

type readArgs struct {
	Path  string `json:"path" jsonschema:"the file to read"`
	Lines []int  `json:"lines,omitempty" jsonschema:"first and last line"`
}

func readTool(ran *int) tools.Tool {
	return tools.New(tools.Definition{Name: "read_file"}, func(_ context.Context, in readArgs) (string, error) {
		*ran++
		return fmt.Sprintf("%s %v", in.Path, in.Lines), nil
	})
}

func problemsOf(t *testing.T, err error) []tools.Problem {
	t.Helper()
	var invalid *tools.ArgumentError
	require.ErrorAs(t, err, &invalid)
	return invalid.Problems
}

func TestNewInfersParameters(t *testing.T) {
	var ran int
	require.JSONEq(t, `{"type":"object","properties":{
		"path":{"type":"string","description":"the file to read"},
		"lines":{"type":"array","items":{"type":"integer"},"description":"first and last line"}},
		"required":["path"],"additionalProperties":false}`, string(readTool(&ran).Definition().Parameters))

	type inner struct {
		When  time.Time       `json:"when"`
		Bytes []byte          `json:"bytes"`
		Raw   json.RawMessage `json:"raw"`
		Maybe *json.RawMessage
		Addr  *netip.Addr `json:"addr"`
		Num   json.Number `json:"num"`
		Any   any         `json:"any"`
		Names map[string]*bool
	}
	def := tools.New(tools.Definition{Name: "x"}, func(context.Context, inner) (int, error) { return 0, nil }).Definition()
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["when","bytes","raw","Maybe","addr","num","any","Names"],"properties":{
		"when":{"type":"string","format":"date-time"},"bytes":{"type":"string","contentEncoding":"base64"},"raw":{"description":"any JSON"},"Maybe":{"description":"any JSON"},
		"addr":{"type":["null","string"]},"num":{"type":"number"},"any":{"description":"any JSON"},
		"Names":{"type":"object","additionalProperties":{"type":["null","boolean"]}}}}`, string(def.Parameters))
	for range 20 {
		again := tools.New(tools.Definition{Name: "x"}, func(context.Context, inner) (int, error) { return 0, nil }).Definition()
		require.Equal(t, string(def.Parameters), string(again.Parameters), "the same bytes every time")
	}
}

func TestNewWithoutParameters(t *testing.T) {
	tool := tools.New(tools.Definition{Name: "now"}, func(context.Context, struct{}) (string, error) { return "noon", nil })
	require.Nil(t, tool.Definition().Parameters)
	for _, arguments := range []string{"", " \n", "null", "{}", " { } "} {
		text, err := tool.Call(t.Context(), arguments)
		require.NoError(t, err)
		require.Equal(t, "noon", text)
	}
	_, err := tool.Call(t.Context(), `{"zone":"UTC"}`)
	require.EqualError(t, err, `tools: invalid arguments for now: unknown "zone"`)
}

func TestNewRefusesBadArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		arguments string
		want      []tools.Problem
	}{
		"S0-6 cut": {`{"path": `, []tools.Problem{{Message: "not JSON: unexpected end at byte 9"}}},
		"missing":  {``, []tools.Problem{{Message: `missing "path"`}}},
		"a list":   {`[]`, []tools.Problem{{Message: "got array, want object"}}},
		"a string": {`"{\"path\":\"a\"}"`, []tools.Problem{{Message: "got string, want object"}}},
		"all at once": {`{"path":1,"lines":[1,"2",3.5,null],"mode":"r","user":"x"}`, []tools.Problem{
			{Message: `unknown "mode", "user"`},
			{Pointer: "/lines/1", Message: "got string, want integer"},
			{Pointer: "/lines/2", Message: "got number, want integer"},
			{Pointer: "/lines/3", Message: "got null, want integer"},
			{Pointer: "/path", Message: "got number, want string"},
		}},
		"the case counts": {`{"Path":"a"}`, []tools.Problem{{Message: `missing "path"`}, {Message: `unknown "Path"`}}},
		"twice":           {`{"path":"a","path":"b"}`, []tools.Problem{{Message: `"path" stands twice in an object`}}},
		"too large":       {`{"path":"a","lines":[99999999999999999999]}`, []tools.Problem{{Pointer: "/lines", Message: "does not fit the type int"}}},
		"10,000 levels":   {`{"path":` + strings.Repeat("[", 10_000), []tools.Problem{{Message: "nested deeper than 64 levels"}}},
		"10 MiB":          {`{"path":"` + strings.Repeat("a", 10<<20) + `"}`, []tools.Problem{{Message: "10485771 bytes are too long: at most 1048576"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var ran int
			_, err := readTool(&ran).Call(t.Context(), tt.arguments)
			require.Equal(t, tt.want, problemsOf(t, err))
			require.Zero(t, ran)
			for _, p := range tt.want {
				require.ErrorContains(t, err, strings.TrimPrefix(p.Pointer+": "+p.Message, ": "))
			}
		})
	}
}

func TestArgumentErrorIsShortAndKeepsSecrets(t *testing.T) {
	const secret = "sk-project-0123456789abcdefghijklmnopqrstuvwxyz0123456789"
	type args struct {
		A     string         `json:"a"`
		N     int            `json:"n"`
		Addr  netip.Addr     `json:"addr,omitzero"`
		At    time.Time      `json:"at,omitzero"`
		Words map[string]int `json:"words,omitempty"`
		List  []bool         `json:"list,omitempty"`
	}
	tool := tools.New(tools.Definition{Name: "x"}, func(context.Context, args) (string, error) { return "", nil })
	for _, arguments := range []string{
		`{"a":1,"n":"` + secret + `"}`, `{"` + secret + `":1}`, `{"a":"","n":1,"addr":"` + secret + `"}`, `{"a":"","n":1,"at":"` + secret + `"}`,
		`{"a":"","n":1,"words":{"` + secret + `":"` + secret + `"}}`, `{"` + secret + `":1,"` + secret + `":2}`,
		`{"a":"","n":1,"list":[` + strings.Repeat(`"`+secret+`",`, 99) + `1]}`, secret, `{"a":"` + secret,
	} {
		_, err := tool.Call(t.Context(), arguments)
		require.NotContains(t, err.Error(), secret)
		require.Less(t, len(err.Error()), 1500)
		require.LessOrEqual(t, strings.Count(err.Error(), "\n"), 11)
		problemsOf(t, err)
	}
	_, err := tool.Call(t.Context(), `{"a":"","n":1,"list":[1,2,3,4,5,6,7,8,9,0,1,2]}`)
	require.ErrorContains(t, err, "and 2 more")
	_, err = tool.Call(t.Context(), `{"a":"","n":1,"at":"today"}`)
	require.EqualError(t, err, "tools: invalid arguments for x: /at: is not a valid date-time")
}

func TestNewKeepsNumbersExact(t *testing.T) {
	const number = "12345678901234567890.123"
	tool := tools.New(tools.Definition{Name: "x"}, func(_ context.Context, in map[string]any) (any, error) { return in, nil })
	text, err := tool.Call(t.Context(), `{"n":`+number+`}`)
	require.NoError(t, err)
	require.Equal(t, `{"n":`+number+`}`, text)

	type args struct {
		Deep []map[string]struct{ V any }
		ID   uint64
	}
	typed := tools.New(tools.Definition{Name: "x"}, func(_ context.Context, in args) (string, error) {
		return fmt.Sprint(in.Deep[0]["a"].V, " ", in.ID), nil
	})
	text, err = typed.Call(t.Context(), fmt.Sprintf(`{"Deep":[{"a":{"V":%s}}],"ID":%d}`, number, uint64(math.MaxUint64)))
	require.NoError(t, err)
	require.Equal(t, number+" 18446744073709551615", text)
}

func TestResults(t *testing.T) {
	for want, tool := range map[string]tools.Tool{
		`as "it" is <b>`:           returns(`as "it" is <b>`),
		` {"a": 1} `:               returns(json.RawMessage(` {"a": 1} `)),
		`3`:                        returns(3),
		`null`:                     returns[*int](nil),
		`{"a":"<b> & \"c\""}`:      returns(map[string]string{"a": `<b> & "c"`}),
		`"<b>"`:                    returns(template("<b>")),
		"[\"\\u0001\",\"\u00e9\"]": returns([]string{"\x01", "\u00e9"}),
	} {
		text, err := tool.Call(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	_, err := returns(math.NaN()).Call(t.Context(), "")
	require.ErrorContains(t, err, "tools: the result of x is not JSON: ")
}

type template string

func returns[Out any](out Out) tools.Tool {
	return tools.New(tools.Definition{Name: "x"}, func(context.Context, struct{}) (Out, error) { return out, nil })
}

func TestToolErrorsAreTheirOwn(t *testing.T) {
	mine := errors.New("no such file")
	tool := tools.New(tools.Definition{Name: "x"}, func(context.Context, struct{}) (int, error) { return 0, mine })
	_, err := tool.Call(t.Context(), "")
	require.Same(t, mine, err)
}

func TestGivenParameters(t *testing.T) {
	type args struct {
		Path string `json:"path"`
		Mode string `json:"mode"`
	}
	tool := tools.New(tools.Definition{Name: "x", Parameters: json.RawMessage(
		`{"type":"object","properties":{"path":{"type":"string","pattern":"^[a-z]+$"},"mode":{"enum":["r","w"]}},"required":["path"]}`,
	)}, func(_ context.Context, in args) (string, error) { return in.Path + in.Mode, nil })
	require.NoError(t, tool.(interface{ Check() error }).Check())

	text, err := tool.Call(t.Context(), `{"path":"a"}`)
	require.NoError(t, err, "what the type would require does not count")
	require.Equal(t, "a", text)

	_, err = tool.Call(t.Context(), `{"path":"A","mode":"x"}`)
	require.Equal(t, []tools.Problem{{Pointer: "/mode", Message: `must be one of "r", "w"`}, {Pointer: "/path", Message: "does not match the pattern ^[a-z]+$"}}, problemsOf(t, err))

	// The schema allows other fields, but In has no place for them, and encoding/json would read
	// PATH as path.
	_, err = tool.Call(t.Context(), `{"path":"a","PATH":"A","mode":"r"}`)
	require.Equal(t, []tools.Problem{{Message: `unknown "PATH"`}}, problemsOf(t, err))
	_, err = tool.Call(t.Context(), `{"path":"a","mode":"r","more":1}`)
	require.Equal(t, []tools.Problem{{Message: `unknown "more"`}}, problemsOf(t, err))
}

type tree struct{ Children []tree }

func TestDefectsAreReportedWhereverTheToolGoes(t *testing.T) {
	def := tools.Definition{Name: "x"}
	given := func(s string) tools.Definition { return tools.Definition{Name: "x", Parameters: json.RawMessage(s)} }
	for name, tt := range map[string]struct {
		tool tools.Tool
		want string
	}{
		"no function":        {tools.New[struct{}, string](def, nil), "no function"},
		"no inline function": {tools.New[struct{}, string](def, nil), "no function"},
		"no raw function":    {tools.NewRaw(def, nil), "no function"},
		"not an object":      {tools.New(def, func(_ context.Context, _ int) (int, error) { return 0, nil }), "must be a struct or a map with string keys, not int"},
		"given for an int":   {tools.New(given(`{"type":"object"}`), func(_ context.Context, _ int) (int, error) { return 0, nil }), "not int"},
		"a pointer":          {tools.New(def, func(_ context.Context, _ *readArgs) (int, error) { return 0, nil }), "must be a struct"},
		"a channel inside":   {tools.New(def, func(_ context.Context, _ struct{ C chan int }) (int, error) { return 0, nil }), "no schema for struct { C chan int }, give Parameters"},
		"a cycle":            {tools.New(def, func(_ context.Context, _ tree) (int, error) { return 0, nil }), "give Parameters"},
		"broken schema":      {tools.New(given(`{"type":`), func(_ context.Context, _ readArgs) (int, error) { return 0, nil }), "parameters are not a JSON object"},
		"another type":       {tools.New(given(`{"type":"string"}`), func(_ context.Context, _ readArgs) (int, error) { return 0, nil }), `"type":"object"`},
		"no schema":          {tools.New(given(`{"type":"object","required":1}`), func(_ context.Context, _ readArgs) (int, error) { return 0, nil }), "schema"},
		"another document":   {tools.New(given(`{"type":"object","$ref":"file:///etc/passwd"}`), func(_ context.Context, _ readArgs) (int, error) { return 0, nil }), "another document"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.tool.(interface{ Check() error }).Check()
			require.ErrorContains(t, err, `tools: tool "x": `)
			require.ErrorContains(t, err, tt.want)

			_, called := tt.tool.Call(t.Context(), "{}")
			require.Equal(t, err, called)
			_, set := tools.NewSet(tt.tool)
			require.EqualError(t, set, err.Error())
		})
	}

	recursive := tools.New(given(`{"type":"object"}`), func(_ context.Context, in tree) (int, error) { return len(in.Children), nil })
	text, err := recursive.Call(t.Context(), `{"Children":[{}]}`)
	require.NoError(t, err, "with Parameters any type will do")
	require.Equal(t, "1", text)
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{``, `null`, `{"path":"a"}`, `{"path":"a","lines":[1]}`, `{"path": `, `{"path":1}`, `[[[`, `{"path":"a","path":"b"}`, "\xff"} {
		f.Add(seed)
	}
	var ran int
	tool := readTool(&ran)
	f.Fuzz(func(t *testing.T, arguments string) {
		ran = 0
		text, err := tool.Call(t.Context(), arguments)
		if err != nil {
			require.NotEmpty(t, problemsOf(t, err))
			require.Zero(t, ran)
			return
		}
		require.Equal(t, 1, ran)
		var want readArgs
		require.NoError(t, json.Unmarshal([]byte(arguments), &want))
		require.Equal(t, fmt.Sprintf("%s %v", want.Path, want.Lines), text)
	})
}

// JSON Schema says that 5.0 is an integer.
func TestNewReadsWholeNumbersAsIntegers(t *testing.T) {
	type args struct {
		N    int         `json:"n"`
		F    float64     `json:"f,omitempty"`
		Num  json.Number `json:"num,omitempty"`
		Any  any         `json:"any,omitempty"`
		List []uint8     `json:"list,omitempty"`
	}
	echo := func(_ context.Context, in args) (args, error) { return in, nil }
	given := tools.Definition{Name: "x", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
	for _, def := range []tools.Definition{{Name: "x"}, given} {
		tool := tools.New(def, echo)
		for arguments, want := range map[string]string{
			`{"n":5.0}`:                `{"n":5}`,
			`{"n":1e3}`:                `{"n":1000}`,
			`{"n":9007199254740993.0}`: `{"n":9007199254740993}`,
			`{"n":-0.0}`:               `{"n":0}`,
			`{"n":2.0,"num":2.0,"any":[2.0],"f":2.0}`: `{"n":2,"f":2,"num":2.0,"any":[2.0]}`,
		} {
			text, err := tool.Call(t.Context(), arguments)
			require.NoError(t, err, arguments)
			require.Equal(t, want, text)
		}
		for arguments, problem := range map[string]string{
			`{"n":5.5}`:   "got number, want integer",
			`{"n":1e30}`:  "does not fit the type int",
			`{"n":"5.0"}`: "got string, want integer",
		} {
			_, err := tool.Call(t.Context(), arguments)
			require.Equal(t, []tools.Problem{{Pointer: "/n", Message: problem}}, problemsOf(t, err), arguments)
		}
	}
	_, err := tools.New(tools.Definition{Name: "x"}, echo).Call(t.Context(), `{"n":1.0,"list":[255.0,256.0]}`)
	require.ErrorContains(t, err, "/list")
}
