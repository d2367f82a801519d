package machine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/nextstep"
)

// RecordVersion is the version of the JSON form of records that this package writes and reads.
const RecordVersion = 2

// VersionError reports that a record was written in another version of the JSON form.
type VersionError struct{ Version int }

// Error names both versions.
func (e *VersionError) Error() string {
	whose := "an earlier"
	if e.Version > RecordVersion {
		whose = "a later"
	}
	return fmt.Sprintf("machine: the record was written by %s version of this library, in format %d, and this one reads format %d: go on with the version that wrote it",
		whose, e.Version, RecordVersion)
}

// Unwrap returns [nextstep.ErrVersion].
func (e *VersionError) Unwrap() error { return nextstep.ErrVersion }

// The types of records in the JSON form, see [TypeOf].
const (
	typeStarted   = "started"
	typeResumed   = "resumed"
	typeIntended  = "intended"
	typeAnswered  = "answered"
	typeAsked     = "asked"
	typeSuspended = "suspended"
	typeReplied   = "replied"
	typeNoted     = "noted"
	typeStopped   = "stopped"
	typeMigrated  = "migrated"
)

// TypeOf returns the type of a record in the JSON form; "" if r is not one of the record types.
func TypeOf(r Record) string {
	switch r.(type) {
	case Started:
		return typeStarted
	case Resumed:
		return typeResumed
	case Intended:
		return typeIntended
	case Answered:
		return typeAnswered
	case Asked:
		return typeAsked
	case Suspended:
		return typeSuspended
	case Replied:
		return typeReplied
	case Noted:
		return typeNoted
	case Stopped:
		return typeStopped
	case Migrated:
		return typeMigrated
	default:
		return ""
	}
}

// AppendRecord appends the JSON form of a record to dst: an object on one line,
//
//	{"v":2,"type":"answered","at":"2026-01-02T15:04:05.123456789Z","effect":"3/2","frame":"0","kind":"tool",…,"answer":{"kind":"tool_result",…}}
//
// with the fields that the tags of the record declare, and the answer in the form of
// [nextstep.AppendAnswer]. Times are in UTC, in RFC 3339 with nanoseconds; durations are in
// nanoseconds. Bytes that are not UTF-8 become U+FFFD. The same record always gives the same bytes.
//
// It returns an error for a record without a JSON form: a pointer or an unknown type of record; an
// unknown type of message or part; extras, data, state or memory that are not JSON; a time before
// the year 0 or after 9999; a number that is NaN or infinite; a negative number in an effect's id;
// an Answered that holds nothing; a Suspended without waits; and a Snapshot of another format.
func AppendRecord(dst []byte, r Record) ([]byte, error) {
	switch r := r.(type) {
	case Answered:
		return appendAnswered(dst, &r)
	case Intended:
		return appendIntended(dst, &r)
	case Started:
		r.At = r.At.UTC()
		return appendByTags(dst, typeStarted, r)
	case Resumed:
		r.At = r.At.UTC()
		return appendByTags(dst, typeResumed, r)
	case Asked:
		r.At, r.Wait.Expires = r.At.UTC(), r.Wait.Expires.UTC()
		return appendByTags(dst, typeAsked, r, r.Effect.check())
	case Suspended:
		r.At, r.Waits = r.At.UTC(), slices.Clone(r.Waits)
		for i := range r.Waits {
			r.Waits[i].Expires = r.Waits[i].Expires.UTC()
		}
		return appendByTags(dst, typeSuspended, r, r.check(), r.Effect.check())
	case Replied:
		r.At = r.At.UTC()
		return appendByTags(dst, typeReplied, r)
	case Noted:
		r.At = r.At.UTC()
		return appendByTags(dst, typeNoted, r)
	case Stopped:
		r.At = r.At.UTC()
		return appendByTags(dst, typeStopped, r)
	case Migrated:
		r.At = r.At.UTC()
		return appendByTags(dst, typeMigrated, r, r.Snapshot.check())
	default:
		return nil, fmt.Errorf("machine: %v is not a record as a value", reflect.TypeOf(r)) // %T would put every record on the heap
	}
}

// formless returns the error of a record without a JSON form.
func formless(kind string, err error) error {
	return fmt.Errorf("machine: the record of type %s has no JSON form: %w", kind, err)
}

var recordHead = `{"v":` + strconv.Itoa(RecordVersion) + `,"type":"`

// appendByTags appends a record by its tags, unless there is a problem.
func appendByTags(dst []byte, kind string, r any, problems ...error) ([]byte, error) {
	text, err := nextstep.Encode(r)
	if err = cmp.Or(append(problems, err)...); err != nil {
		return nil, formless(kind, err)
	}
	text = bytes.ToValidUTF8(text, []byte("\uFFFD")) // raw JSON is encoded as it is
	dst = append(append(append(dst, recordHead...), kind...), `",`...)
	return append(dst, text[1:]...), nil
}

// check returns an error if the record holds no waits.
func (r *Suspended) check() error {
	if len(r.Waits) == 0 {
		return errors.New("it holds no waits")
	}
	return nil
}

// check returns an error if the text of the id could not be parsed again.
func (id EffectID) check() error {
	if id.Seq < 0 || id.Index < 0 || id.Wait < 0 {
		return errors.New("a number of its effect is negative")
	}
	return nil
}

// appendHead appends the first fields of each record about an effect.
func appendHead(dst []byte, kind string, at time.Time, id EffectID) ([]byte, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	at = at.UTC()
	if y := at.Year(); y < 0 || y > 9999 {
		return nil, errors.New("its year is not between 0 and 9999")
	}
	dst = append(append(append(dst, recordHead...), kind...), `","at":"`...)
	dst = at.AppendFormat(dst, time.RFC3339Nano)
	dst = strconv.AppendInt(append(dst, `","effect":"`...), int64(id.Seq), 10)
	if id.Index > 0 || id.Wait > 0 {
		dst = strconv.AppendInt(append(dst, '/'), int64(id.Index), 10)
	}
	if id.Wait > 0 {
		dst = strconv.AppendInt(append(dst, '/'), int64(id.Wait), 10)
	}
	return append(dst, '"'), nil
}

func appendIntended(dst []byte, r *Intended) ([]byte, error) {
	if r.Verdict < 0 || int(r.Verdict) >= len(verdictNames) {
		return nil, formless(typeIntended, fmt.Errorf("no verdict has the number %d", int(r.Verdict)))
	}
	dst, err := appendHead(dst, typeIntended, r.At, r.Effect)
	if err != nil {
		return nil, formless(typeIntended, err)
	}
	dst = jsonform.AppendString(append(dst, `,"frame":`...), r.Frame)
	dst = appendText(dst, `,"kind":`, string(r.Kind))
	dst = jsonform.AppendString(append(dst, `,"tool":`...), r.Tool)
	dst = appendText(dst, `,"digest":`, r.Digest)
	return append(append(append(dst, `,"verdict":"`...), r.Verdict.String()...), `"}`...), nil
}

func appendAnswered(dst []byte, r *Answered) ([]byte, error) {
	dst, err := appendHead(dst, typeAnswered, r.At, r.Effect)
	if err != nil {
		return nil, formless(typeAnswered, err)
	}
	dst = appendText(dst, `,"frame":`, r.Frame)
	dst = appendText(dst, `,"kind":`, string(r.Kind))
	dst = appendText(dst, `,"tool":`, r.Tool)
	dst = appendText(dst, `,"digest":`, r.Digest)
	if r.Elapsed != 0 {
		dst = strconv.AppendInt(append(dst, `,"elapsed":`...), int64(r.Elapsed), 10)
	}
	if r.Cost != 0 {
		dst = strconv.AppendInt(append(dst, `,"cost":`...), int64(r.Cost), 10)
	}
	if r.Unpriced != 0 {
		dst = strconv.AppendInt(append(dst, `,"unpriced":`...), int64(r.Unpriced), 10)
	}
	if r.NotBegun {
		dst = append(dst, `,"not_begun":true`...)
	}
	switch {
	case r.Answer != nil:
		if dst, err = nextstep.AppendAnswer(append(dst, `,"answer":`...), r.Answer); err != nil {
			return nil, formless(typeAnswered, err)
		}
	case !r.NotBegun:
		return nil, formless(typeAnswered, errEmpty)
	}
	return append(dst, '}'), nil
}

// errEmpty says that an Answered holds nothing.
var errEmpty = errors.New("it holds no answer, no reference to one, and does not say that the effect was not begun")

// appendText appends a field, unless it is "".
func appendText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return jsonform.AppendString(append(dst, name...), text)
}

// answeredFields are the fields of an Answered without the answer, which is decoded separately.
type answeredFields struct {
	Answered
	Answer json.RawMessage `json:"answer,omitempty"`
}

var answeredForm = jsonform.Of[answeredFields]("v", "type")

// readers holds the decoder of each type of record.
var readers = map[string]func([]byte) (Record, error){
	typeStarted:   reader[Started](),
	typeResumed:   reader[Resumed](),
	typeIntended:  reader[Intended](),
	typeAnswered:  readAnswered,
	typeAsked:     reader[Asked](),
	typeSuspended: reader[Suspended](),
	typeReplied:   reader[Replied](),
	typeNoted:     reader[Noted](),
	typeStopped:   reader[Stopped](),
	typeMigrated:  reader[Migrated](),
}

func reader[R Record]() func([]byte) (Record, error) {
	form := jsonform.Of[R]("v", "type")
	return func(data []byte) (Record, error) {
		r, err := form.Read(data)
		return r, err
	}
}

// ReadRecord decodes the output of [AppendRecord]. It is strict: a record of another version is a
// [*VersionError]; an unknown type, an unknown field and a missing required field are errors that
// name it. Only messages and their parts may have unknown fields, which package messages keeps.
func ReadRecord(data []byte) (Record, error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("machine: the record is not JSON: %w", json.Unmarshal(data, new(json.RawMessage)))
	}
	var version int
	switch text := jsonform.Member(data, "v"); {
	case text == nil || string(text) == "null" || json.Unmarshal(text, &version) != nil:
		return nil, errors.New("machine: the record does not say in which version it was written")
	case version != RecordVersion:
		return nil, &VersionError{Version: version}
	}
	var kind string
	if text := jsonform.Member(data, "type"); text != nil {
		_ = json.Unmarshal(text, &kind) // if it is not a string, the type stays unknown
	}
	read := readers[kind]
	if read == nil {
		return nil, fmt.Errorf("machine: the record of type %.64q: there is no such type", kind)
	}
	r, err := read(data)
	switch r := r.(type) {
	case Suspended:
		err = cmp.Or(err, r.check())
	case Migrated:
		err = cmp.Or(err, r.Snapshot.check())
	}
	if err != nil {
		return nil, fmt.Errorf("machine: the record of type %.64q: %w", kind, err)
	}
	return r, nil
}

func readAnswered(data []byte) (Record, error) {
	f, err := answeredForm.Read(data)
	if err != nil {
		return nil, err
	}
	r := f.Answered
	if text := string(f.Answer); text != "" && text != "null" {
		if r.Answer, err = nextstep.ReadAnswer(f.Answer); err != nil {
			return nil, err
		}
	}
	if r.Answer == nil && !r.NotBegun {
		return nil, errEmpty
	}
	return r, nil
}
