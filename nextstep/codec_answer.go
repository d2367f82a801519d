package nextstep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// answerVersion is the version of the JSON form of answers. In version 1 a ToolResults answered a
// whole batch.
const answerVersion = 2

// The names of the answers in the JSON form.
const (
	nameAPIResponse      = "api_response"
	nameToolResult       = "tool_result"
	nameDelegationResult = "delegation_result"
	nameFailure          = "failure"
)

// MarshalAnswer returns the JSON form of an answer with its version:
// {"v":2,"kind":"tool_result","output":{…}}. Apart from the version it is the form of
// [AppendAnswer].
func MarshalAnswer(a Answer) ([]byte, error) {
	head := fmt.Appendf(nil, `{"v":%d,`, answerVersion)
	text, err := AppendAnswer(head, a)
	if err != nil {
		return nil, err
	}
	return append(text[:len(head)], text[len(head)+1:]...), nil // without the second brace
}

// UnmarshalAnswer reads the form that [MarshalAnswer] writes. An unknown kind is an error that
// names it.
func UnmarshalAnswer(data []byte) (Answer, error) {
	kind, version, err := readHead(data)
	if err != nil {
		return nil, err
	}
	if version != answerVersion {
		return nil, fmt.Errorf("nextstep: answer of version %d, want %d: %w", version, answerVersion, ErrVersion)
	}
	return readAnswer(data, kind)
}

// AppendAnswer appends the JSON form of an answer to dst, without a version. Use it if answers are
// stored in another format that has a version.
//
//	{"kind":"api_response","response":{…}}
//	{"kind":"tool_result","output":{…},"call":{…}}
//	{"kind":"delegation_result","output":{…}}
//	{"kind":"failure","source":"model","code":"auth","message":"…","model":"…",
//	  "partial":{…},"usage":{…},"attempts":[…]}
//
// The Raw of a response is left out. Bytes of a string that are not UTF-8 become U+FFFD. A value
// without a JSON form is an error.
func AppendAnswer(dst []byte, a Answer) ([]byte, error) {
	kind, text, err := "", []byte(nil), error(nil)
	switch a := a.(type) {
	case APIResponse:
		kind = nameAPIResponse
		text, err = appendAPIResponse(append(dst, `{"kind":"`+nameAPIResponse+`","response":`...), a.Response)
	case ToolResult:
		kind = nameToolResult
		text, err = appendToolResult(append(dst, `{"kind":"`+nameToolResult+`","output":`...), &a)
	case DelegationResult:
		kind = nameDelegationResult
		text, err = appendOther(append(dst, `{"kind":"`+nameDelegationResult+`","output":`...), a.Output)
	case Failure:
		kind = nameFailure
		text, err = appendFailure(append(dst, `{"kind":"`+nameFailure+`","source":`...), &a)
	default:
		return nil, fmt.Errorf("nextstep: %T is not an answer", a)
	}
	if err != nil {
		return nil, fmt.Errorf("nextstep: %s: %w", kind, err)
	}
	return append(text, '}'), nil
}

func appendAPIResponse(dst []byte, r *llmclient.Response) ([]byte, error) {
	if r == nil {
		return nil, errors.New("it holds no response")
	}
	dst, err := messages.AppendMessage(append(dst, `{"message":`...), r.Message)
	if err != nil {
		return nil, err
	}
	dst = appendText(dst, `,"finish":`, string(r.Finish))
	dst = appendUsage(dst, r.Usage)
	dst = appendText(dst, `,"model":`, r.Model)
	dst = appendText(dst, `,"asked":`, r.Asked)
	dst = appendText(dst, `,"id":`, r.ID)
	if r.Read != 0 {
		dst = strconv.AppendInt(append(dst, `,"read":`...), int64(r.Read), 10)
	}
	if dst, err = appendAttempts(dst, r.Attempts); err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

func appendToolResult(dst []byte, r *ToolResult) ([]byte, error) {
	dst = messages.AppendOutput(dst, r.Output)
	if r.Call == nil {
		return dst, nil
	}
	call, err := r.Call.MarshalJSON()
	return append(append(dst, `,"call":`...), call...), err
}

func appendFailure(dst []byte, f *Failure) ([]byte, error) {
	dst = jsonform.AppendString(dst, string(f.Source))
	dst = jsonform.AppendString(append(dst, `,"code":`...), string(f.Code))
	dst = jsonform.AppendString(append(dst, `,"message":`...), f.Message)
	dst = appendText(dst, `,"model":`, f.Model)
	if p := &f.Partial; len(p.Content) > 0 || len(p.Extras) > 0 || p.Name != "" || p.Cache != "" {
		var err error
		if dst, err = messages.AppendMessage(append(dst, `,"partial":`...), f.Partial); err != nil {
			return nil, err
		}
	}
	return appendAttempts(appendUsage(dst, f.Usage), f.Attempts)
}

// appendText appends a field, unless it is "".
func appendText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return jsonform.AppendString(append(dst, name...), text)
}

// appendUsage appends the usage as a field, unless it is zero.
func appendUsage(dst []byte, u messages.Usage) []byte {
	if u == (messages.Usage{}) {
		return dst
	}
	dst = append(dst, `,"usage":{`...)
	first := len(dst)
	for _, f := range [...]struct {
		name string
		n    int64
	}{{`"input":`, u.Input}, {`"output":`, u.Output}, {`"total":`, u.Total}, {`"cached":`, u.Cached}, {`"reasoning":`, u.Reasoning}, {`"cache_writes":`, u.CacheWrites}, {`"estimated":`, u.Estimated}} {
		if f.n == 0 {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, f.name...), f.n, 10)
	}
	return append(dst, '}')
}

// appendAttempts appends attempts as a field, unless there are none.
func appendAttempts(dst []byte, attempts []llmclient.Attempt) ([]byte, error) {
	if len(attempts) == 0 {
		return dst, nil
	}
	return appendOther(append(dst, `,"attempts":`...), attempts)
}

// appendOther appends a rare field by encoding/json, which does not change a json.RawMessage, even
// if it is not UTF-8.
func appendOther(dst []byte, v any) ([]byte, error) {
	text, err := Encode(v)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return append(dst, text...), nil
}

// answerHead holds the fields that every answer has, in either form.
type answerHead struct {
	Version int    `json:"v,omitempty"`
	Kind    string `json:"kind"`
}

var (
	apiResponseForm = jsonform.Of[struct {
		answerHead
		Response *llmclient.Response `json:"response"`
	}]()
	toolResultForm = jsonform.Of[struct {
		answerHead
		ToolResult
	}]()
	delegationResultForm = jsonform.Of[struct {
		answerHead
		DelegationResult
	}]()
	failureForm = jsonform.Of[struct {
		answerHead
		Failure
	}]()
)

// ReadAnswer reads the form that [AppendAnswer] writes. It is strict: an unknown kind, an unknown
// field and a missing field are errors that name it.
func ReadAnswer(data []byte) (Answer, error) {
	kind, version, err := readHead(data)
	if err != nil {
		return nil, err
	}
	if version != 0 {
		return nil, fmt.Errorf("nextstep: an answer of version %d, want one without a version: %w", version, ErrVersion)
	}
	return readAnswer(data, kind)
}

// readHead reads the fields that every answer has. A version that is not a number, or a kind that
// is not a string, is ignored.
func readHead(data []byte) (kind string, version int, err error) {
	if !json.Valid(data) {
		return "", 0, fmt.Errorf("nextstep: %w", json.Unmarshal(data, new(json.RawMessage)))
	}
	if text := jsonform.Member(data, "v"); text != nil && json.Unmarshal(text, &version) != nil {
		version = -1
	}
	if text := jsonform.Member(data, "kind"); text != nil {
		_ = json.Unmarshal(text, &kind)
	}
	return kind, version, nil
}

func readAnswer(data []byte, kind string) (a Answer, err error) {
	switch kind {
	case nameAPIResponse:
		f, e := apiResponseForm.Read(data)
		a, err = APIResponse{f.Response}, e
	case nameToolResult:
		f, e := toolResultForm.Read(data)
		a, err = f.ToolResult, e
	case nameDelegationResult:
		f, e := delegationResultForm.Read(data)
		a, err = f.DelegationResult, e
	case nameFailure:
		f, e := failureForm.Read(data)
		a, err = f.Failure, e
	default:
		return nil, fmt.Errorf("nextstep: unknown kind of answer %.64q", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("nextstep: %s: %w", kind, err)
	}
	return a, nil
}
