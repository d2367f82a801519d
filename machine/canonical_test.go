package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// Live is replay: a record that is applied is the record that a journal gives back. Nothing in it
// need be drawn by name, so that a field which is added later is held against the codec as well.
func TestCanonical_isWhatTheCodecGivesBack(t *testing.T) {
	for _, kind := range []Record{Started{}, Resumed{}, Intended{}, Answered{}, Asked{}, Suspended{}, Replied{}, Noted{}, Stopped{}} {
		t.Run(reflect.TypeOf(kind).Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				r := drawRecord(t, reflect.TypeOf(kind))
				before, err := AppendRecord(nil, r)
				require.NoError(t, err)
				got := applied(r)
				unchanged, err := AppendRecord(nil, r)
				require.NoError(t, err)
				require.Equal(t, string(before), string(unchanged), "what was handed over is not written to")
				read, err := ReadRecord(before)
				require.NoError(t, err, "%s", before)
				require.Equal(t, read, got)
				require.Equal(t, got, applied(got), "what is canonical stays so")
				after, err := AppendRecord(nil, got)
				require.NoError(t, err)
				require.JSONEq(t, string(before), string(after))
			})
		})
	}
}

// A reply that is plain but for its raw body loses the body, which no journal holds.
func TestCanonical_dropsTheRawBody(t *testing.T) {
	plain := commonRecords()["reply"].(Answered)
	resp := *plain.Answer.(nextstep.APIResponse).Response
	resp.Raw = json.RawMessage(`{"choices":[]}`)
	raw := plain
	raw.Answer = nextstep.APIResponse{Response: &resp}
	require.Equal(t, applied(plain), applied(raw))
	require.NotNil(t, resp.Raw, "what was handed over is not written to")
}

// The records that come with every step cost nothing where they are plain.
func TestCanonical_allocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for name, r := range commonRecords() {
		require.Zero(t, testing.AllocsPerRun(100, func() { applyInPlace(r) }), name)
	}
	begun := Started{At: at, Run: "r", Strategy: "solve", Input: delegation.Input{Goal: "go", Messages: messages.History{messages.UserText("hello")}}, Parallel: 1}
	require.Zero(t, testing.AllocsPerRun(100, func() { canonicalStarted(&begun) }))
}

// applyInPlace is applied without a result that has to be boxed.
func applyInPlace(r Record) {
	switch r := r.(type) {
	case Intended:
		canonicalIntended(&r)
	case Answered:
		_ = canonicalAnswered(&r)
	default:
		panic(r)
	}
}

// What has no JSON form is left alone: the codec says what is wrong with it.
func TestCanonical_leavesWhatHasNoForm(t *testing.T) {
	for _, a := range []nextstep.Answer{
		nil, &nextstep.Failure{},
		nextstep.APIResponse{},
		nextstep.DelegationResult{Output: delegation.Output{Data: json.RawMessage("{"), Messages: messages.History{nil, &messages.User{}}}},
		nextstep.Failure{Partial: messages.Assistant{Content: []messages.AssistantContent{nil, &messages.Text{Text: "\xff"}}}},
	} {
		r := Answered{At: at, Answer: a}
		require.Error(t, canonicalAnswered(&r))
		require.Equal(t, a, r.Answer)
		_, err := nextstep.AppendAnswer(nil, a)
		require.Error(t, err)
	}
}

func TestWait_IdentifiedIsCanonical(t *testing.T) {
	id := EffectID{Seq: 1}
	w := Wait{Text: "\xff?", Options: []string{}, Expires: at.In(time.FixedZone("here", 60))}.Identified(id)
	require.Equal(t, "\uFFFD?", w.Text)
	text, err := AppendRecord(nil, Asked{At: at, Effect: id, Wait: w})
	require.NoError(t, err)
	r, err := ReadRecord(text)
	require.NoError(t, err)
	require.Equal(t, w, r.(Asked).Wait)
	require.Equal(t, w.ID, w.identity(id))
}

// The ids of waits stand in journals: they must not change.
func TestWait_idStays(t *testing.T) {
	id := EffectID{Seq: 3, Index: 2}
	rapid.Check(t, func(t *rapid.T) {
		var w Wait
		draw(t, reflect.ValueOf(&w).Elem(), "wait")
		w.Arguments = rapid.SampledFrom([]string{"", "{}", `{"b": 1, "a": 2.50}`, "{", " {}", "\xff"}).Draw(t, "arguments")
		sum := sha256.New()
		arguments := w.Arguments
		if v := map[string]json.RawMessage{}; json.Unmarshal([]byte(arguments), &v) == nil {
			text, err := json.Marshal(v)
			require.NoError(t, err)
			arguments = string(text)
		}
		for _, part := range append([]string{w.Run, id.String(), w.Frame, w.Kind, w.CallID, w.Tool, arguments, w.Text}, w.Options...) {
			fmt.Fprintf(sum, "%d:%s;", len(part), part)
		}
		if !w.Expires.IsZero() {
			fmt.Fprintf(sum, "%d", w.Expires.UnixMilli())
		}
		require.Equal(t, hex.EncodeToString(sum.Sum(nil)[:12]), w.identity(id))
	})
}

// drawRecord draws a record of that type that has a JSON form.
func drawRecord(t *rapid.T, kind reflect.Type) Record {
	v := reflect.New(kind).Elem()
	draw(t, v, kind.Name())
	switch r := v.Interface().(type) {
	case Answered:
		if r.Answer == nil {
			r.NotBegun = true
		}
		return r
	case Suspended:
		if len(r.Waits) == 0 {
			r.Waits = []Wait{{Options: []string{}}}
		}
		return r
	case Record:
		return r
	default:
		t.Fatalf("%s is no record", kind)
		return nil
	}
}

var texts = rapid.OneOf(rapid.SampledFrom([]string{"", "a", "\xff", "a\xc3(", "\xed\xa0\x80", "é\u2028<", "\x00\""}), rapid.String())

var raws = rapid.SampledFrom([]json.RawMessage{[]byte(`null`), []byte(`{"a": [1, 2.50,"x y"]}`), []byte("\"\xff\xfe é\""), []byte(` 1`), []byte(`{"a\\":"\" "}`)})

// zones are where times are given.
var zones = []*time.Location{time.UTC, time.Local, time.FixedZone("here", -3600)}

// variants are those of the sums.
var variants = map[reflect.Type][]any{
	reflect.TypeFor[nextstep.Answer]():           {nextstep.APIResponse{}, nextstep.ToolResult{}, nextstep.DelegationResult{}, nextstep.Failure{}},
	reflect.TypeFor[messages.Message]():          {messages.System{}, messages.User{}, messages.Assistant{}, messages.Tool{}},
	reflect.TypeFor[messages.UserContent]():      {messages.Text{}, messages.Image{}, messages.File{}, messages.Audio{}},
	reflect.TypeFor[messages.AssistantContent](): {messages.Text{}, messages.Thought{}, messages.ToolCall{}},
}

// draw fills a value with anything that it may hold and that has a JSON form.
func draw(t *rapid.T, v reflect.Value, name string) {
	switch p := v.Addr().Interface().(type) {
	case *json.RawMessage:
		if rapid.Bool().Draw(t, name) {
			*p = raws.Draw(t, name)
		} else if rapid.Bool().Draw(t, name) && name == "Data" {
			*p = json.RawMessage{}
		}
		return
	case *time.Time:
		if rapid.Bool().Draw(t, name) {
			*p = time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name)).In(rapid.SampledFrom(zones).Draw(t, name))
		} else if rapid.Bool().Draw(t, name) {
			*p = time.Now()
		}
		return
	case *EffectID:
		p.Seq, p.Index, p.Wait = rapid.IntRange(0, 3).Draw(t, "seq"), rapid.IntRange(0, 3).Draw(t, "index"), rapid.IntRange(0, 3).Draw(t, "wait")
		return
	case *Verdict:
		*p = Verdict(rapid.IntRange(0, 2).Draw(t, name))
		return
	case **delegation.Error:
		if rapid.Bool().Draw(t, name) {
			*p = delegation.NewError(delegation.Code(texts.Draw(t, name)), errors.New(texts.Draw(t, name)))
		}
		return
	case **llmclient.Response:
		*p = new(llmclient.Response)
		draw(t, v.Elem(), name)
		return
	}
	drawKind(t, v, name)
}

func drawKind(t *rapid.T, v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts.Draw(t, name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, name))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-2, 2).Draw(t, name))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				draw(t, v.Field(i), f.Name)
			}
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, name) {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem(), name)
		}
	case reflect.Slice:
		if rapid.Bool().Draw(t, name) {
			n := rapid.IntRange(0, 2).Draw(t, name)
			v.Set(reflect.MakeSlice(v.Type(), n, n+1))
			for i := range n {
				draw(t, v.Index(i), name)
			}
		}
	case reflect.Map:
		drawMap(t, v, name)
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[nextstep.Answer]() && rapid.IntRange(0, 5).Draw(t, name) == 0 {
			return
		}
		variant := reflect.New(reflect.TypeOf(rapid.SampledFrom(variants[v.Type()]).Draw(t, name))).Elem()
		draw(t, variant, name)
		v.Set(variant)
	default:
		t.Fatalf("%s is a %s, of which none is drawn", name, v.Type())
	}
}

func drawMap(t *rapid.T, v reflect.Value, name string) {
	if rapid.Bool().Draw(t, name) {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	keys := rapid.SampledFrom([]string{"signature", "x y", "\"", "\xff", "\xfe", "\uFFFD", ""})
	for range rapid.IntRange(0, 3).Draw(t, name) {
		elem := reflect.New(v.Type().Elem()).Elem()
		draw(t, elem, name)
		v.SetMapIndex(reflect.ValueOf(keys.Draw(t, name)), elem)
	}
}
