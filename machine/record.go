package machine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Record is something that happened to a run. Only records change a run. A Record is one of
// [Started], [Resumed], [Intended], [Answered], [Asked], [Suspended], [Replied], [Noted], [Stopped]
// and [Migrated], as a value. Each carries the time at which the engine made it; a Machine reads no
// clock. [AppendRecord] and [ReadRecord] are the JSON form.
type Record interface{ isRecord() }

// Started begins a run. It is the first record, and holds all external settings of the run, so that
// later changes of defaults and definitions do not affect it. [Config.Start] fills in missing
// fields.
type Started struct {
	At       time.Time         `json:"at"`
	Run      string            `json:"run"` // the run's id
	Strategy string            `json:"strategy"`
	Input    delegation.Input  `json:"input"`
	Limits   delegation.Limits `json:"limits"`

	Parallel  int                `json:"parallel"`             // most effects in progress at once, without questions to people
	Tools     []tools.Definition `json:"tools,omitzero"`       // tools of the run, with their definitions now; nil: those of the Config
	Expires   time.Duration      `json:"expires,omitempty"`    // time after which an approval expires; negative: never
	StopNote  string             `json:"stop_note,omitempty"`  // see Config
	MaxResult int                `json:"max_result,omitempty"` // maximum size of an agent's result in bytes; negative: none

	// Model and Temperature apply to every request of the run, also of children and agents, that
	// does not set its own. "" and nil set nothing. The model of a delegation comes before Model.
	Model       string   `json:"model,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`

	// TaskStrategy says that the task brought its own factory for Strategy: the caller of Apply has
	// to put this factory into Config.Strategies.
	TaskStrategy bool `json:"task_strategy,omitempty"`

	// These come from the task. The Machine emits Metadata in an event, and does not use them
	// otherwise.
	Metadata  map[string]string `json:"metadata,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Namespace string            `json:"namespace,omitempty"` // the tenant of the run, if one store holds runs of several tenants
	Origin    *Origin           `json:"origin,omitempty"`    // the run that this one was made from

	// Repeats is how often a model may make the same call while it has the same result and nothing
	// is new, see [Config]. 0, as in journals of earlier releases, and negative: any number.
	Repeats int `json:"repeats,omitempty"`

	// Conclude says that calls beyond a limit of tool calls are answered once, so that the strategy
	// can conclude. [Config.Start] sets it; in journals of earlier releases it is false.
	Conclude bool `json:"conclude,omitempty"`

	// Nonce tells the run from others that had the same id before and were deleted: a random text,
	// without a slash, that is in the keys of its effects. "" for an id that is not used again.
	Nonce string `json:"nonce,omitempty"`

	Fingerprints map[string]string `json:"fingerprints,omitempty"` // fingerprints of the tables of the strategies, by name
	Library      string            `json:"library,omitempty"`      // the version of this library that began the run
}

// Origin names the run from which a run was made.
type Origin struct {
	Run    string `json:"run"`
	Record int    `json:"record,omitempty"` // the last record that both runs share; 0: the run is not a fork
}

// Resumed says that a run continues from its journal, in any process: its open effects must be
// started again.
type Resumed struct {
	At      time.Time         `json:"at"`
	Limits  delegation.Limits `json:"limits,omitzero"`  // new limits of the run; zero fields do not change
	Unknown Unknown           `json:"unknown,omitzero"` // what to do with calls that may have had their effect
}

// Unknown says what to do, when a run is resumed, with a call that was started, has no result, and
// is neither read-only nor idempotent. Such a call may have had its effect.
type Unknown string

// The choices.
const (
	UnknownAsk  Unknown = ""     // a person is asked, with a Wait of kind WaitUnknown
	UnknownTell Unknown = "tell" // the strategy is told: the call has the status unknown
)

// Intended stores the decision about a call before the decision is carried out. It precedes every
// start of a call that is neither read-only nor idempotent. There is also one for every call of an
// agent, and for every call with another verdict than VerdictAllow. [Ready].Intents asks for it.
//
// With the Kind EffectRemote it precedes every start of a remote delegation, with VerdictAllow:
// what [Effect.Key] identifies is stored before another service is given the key. Journals of
// earlier releases have none.
type Intended struct {
	At      time.Time  `json:"at"`
	Effect  EffectID   `json:"effect"`
	Frame   string     `json:"frame"`
	Kind    EffectKind `json:"kind,omitempty"` // EffectRemote; "": a call
	Tool    string     `json:"tool"`
	Digest  string     `json:"digest,omitempty"`
	Verdict Verdict    `json:"verdict"`
}

// Answered ends an effect. [Effect.Answered] makes one. Frame, Kind, Tool and Digest describe the
// effect: a replay compares them with its own effect.
//
// NotBegun says that a released effect was never begun. If its frame is ending, the effect is over,
// and its reserved budget is returned. Otherwise it must be a call with an Intended, in a process
// that stops working on the run: the call is made after a Resumed, and nobody is asked whether it
// had its effect.
type Answered struct {
	At       time.Time       `json:"at"`
	Effect   EffectID        `json:"effect"`
	Frame    string          `json:"frame,omitempty"`
	Kind     EffectKind      `json:"kind,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Elapsed  time.Duration   `json:"elapsed,omitempty"`   // duration since its start, as the engine measured it
	Cost     messages.Cost   `json:"cost,omitempty"`      // cost of a model's answer, see [Answered.Priced]; a replay charges the same
	Unpriced int             `json:"unpriced,omitempty"`  // number of its requests to models without a price
	NotBegun bool            `json:"not_begun,omitempty"` // it was released and never begun; see above
	Answer   nextstep.Answer `json:"answer,omitempty"`    // nil with NotBegun
}

// Asked says that an effect in progress waits for a person.
type Asked struct {
	At     time.Time `json:"at"`
	Effect EffectID  `json:"effect"`
	Wait   Wait      `json:"wait"` // with its ID, see [Wait.Identified]
}

// Suspended says that an effect has returned without an answer because it waits for a person. It is
// released again, with the replies, when all of its waits are answered.
type Suspended struct {
	At      time.Time       `json:"at"`
	Effect  EffectID        `json:"effect"`
	Waits   []Wait          `json:"waits"` // with their IDs; at least one must be open
	State   json.RawMessage `json:"state,omitempty"`
	Elapsed time.Duration   `json:"elapsed,omitempty"`
}

// Replied ends a wait: with a Reply, because it expired, or because nobody could be asked (Err).
type Replied struct {
	At      time.Time         `json:"at"`
	Reply   Reply             `json:"reply"` // WaitID is always set
	Expired bool              `json:"expired,omitempty"`
	Err     *delegation.Error `json:"error,omitempty"`
}

// Noted adds a note to the run. Each frame that lives then, and whose strategy is a
// [strategy.Listener], hears it right before it is given its next answer. Apply refuses a text of
// more than [MaxNote] bytes.
type Noted struct {
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
	Remark bool      `json:"remark,omitempty"` // for people who read the run: no strategy hears it
}

// Stopped ends a run, or one frame of it with everything it started. Queued effects and waits are
// closed at once. Effects in progress finish first; with Now they are cut off.
type Stopped struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Now    bool      `json:"now,omitempty"`
	Frame  string    `json:"frame,omitempty"` // "": the root, which is the whole run
}

// Migrated carries a waiting run over a change of code: from here on the run is what the Snapshot
// says, whatever the records before it have come to. A Machine that cannot apply an earlier record
// may go on with this one, and one without any record may begin with it. The strategies must be
// those that the Snapshot names, with the tables that it has the fingerprints of.
type Migrated struct {
	At       time.Time `json:"at"`
	From     string    `json:"from,omitempty"` // the version of the program that made the Snapshot, for people
	Snapshot Snapshot  `json:"snapshot"`
}

func (Started) isRecord()   {}
func (Resumed) isRecord()   {}
func (Intended) isRecord()  {}
func (Answered) isRecord()  {}
func (Asked) isRecord()     {}
func (Suspended) isRecord() {}
func (Replied) isRecord()   {}
func (Noted) isRecord()     {}
func (Stopped) isRecord()   {}
func (Migrated) isRecord()  {}

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

// AppendRecord appends the JSON form of a record to dst: an object on one line, here on two,
//
//	{"v":2,"type":"answered","at":"2026-01-02T15:04:05.123456789Z","effect":"3/2","frame":"0",
//	  "kind":"tool",…,"answer":{"kind":"tool_result",…}}
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

// This file converts each record to the form that a journal would return, before the record is
// applied, so that a replay decides in the same way: valid UTF-8, times in UTC, no raw bodies, no
// causes of errors, nil for empty values. The codec defines this form: a record is encoded and
// decoded again. Nearly every step has a plain record, which would come back unchanged; plain
// records are not encoded.

// timePrecision is the precision of the expiry of a wait.
const timePrecision = time.Millisecond

// canonical returns a record in the form that its journal would return. A record without a JSON
// form is returned unchanged, with an error that says why.
func canonical[R Record](r R) (R, error) {
	text, err := AppendRecord(nil, r)
	if err != nil {
		return r, err
	}
	read, err := ReadRecord(text)
	if err != nil {
		return r, err
	}
	return read.(R), nil
}

// canonicalStarted is canonical without the tools, which are the same in most runs.
func canonicalStarted(r *Started) {
	if r.isPlain() {
		r.At = r.At.UTC()
		return
	}
	defs := r.Tools
	r.Tools = nil
	*r, _ = canonical(*r) // without a JSON form it cannot be stored either
	r.Tools = defs
}

// canonicalAnswered is canonical for the records of every step. Most of them hold the raw body of a
// reply.
func canonicalAnswered(r *Answered) error {
	if a, ok := r.Answer.(nextstep.APIResponse); ok && a.Response != nil && a.Response.Raw != nil {
		resp := *a.Response
		resp.Raw = nil
		r.Answer = nextstep.APIResponse{Response: &resp}
	}
	if isText(r.Frame, string(r.Kind), r.Tool, r.Digest) && isPlainAnswer(r.Answer) {
		r.At = r.At.UTC()
		return nil
	}
	read, err := canonical(*r)
	*r = read
	return err
}

// canonicalIntended is canonical for the record before every unsafe call.
func canonicalIntended(r *Intended) {
	r.At = r.At.UTC()
	if !isText(r.Frame, string(r.Kind), r.Tool, r.Digest) {
		*r, _ = canonical(*r)
	}
}

// canonicalAsked is canonical for the record of a question.
func canonicalAsked(r *Asked) {
	r.At = r.At.UTC()
	if !r.Wait.plain() {
		*r, _ = canonical(*r)
	}
}

// canonicalSuspended is canonical for the record of an effect that waits.
func canonicalSuspended(r *Suspended) {
	r.At = r.At.UTC()
	if len(r.Waits) == 0 || (r.State != nil && (!isCompact(r.State) || r.State[0] == 'n')) {
		*r, _ = canonical(*r)
		return
	}
	waits := slices.Clone(r.Waits) // the caller's stay as they are
	for i := range waits {
		if !waits[i].plain() {
			*r, _ = canonical(*r)
			return
		}
	}
	r.Waits, r.State = waits, slices.Clone(r.State)
}

// canonicalReplied is canonical for the record of a reply.
func canonicalReplied(r *Replied) {
	r.At = r.At.UTC()
	p := &r.Reply
	if r.Err != nil || !isText(p.WaitID, p.Text, p.Reason, p.Arguments) {
		*r, _ = canonical(*r)
	}
}

// canonicalStopped is canonical for the record of a stop.
func canonicalStopped(r *Stopped) {
	r.At = r.At.UTC()
	if !isText(r.Reason, r.Frame) {
		*r, _ = canonical(*r)
	}
}

// canonicalResumed is canonical for the record of a resume.
func canonicalResumed(r *Resumed) {
	r.At = r.At.UTC()
	if !isText(string(r.Unknown)) {
		*r, _ = canonical(*r)
	}
}

// plain puts the wait into the form that a journal would return. It reports false, and changes
// nothing that matters, for one that has to go through the codec.
func (w *Wait) plain() bool {
	w.Expires = w.Expires.UTC()
	return (w.Options == nil || len(w.Options) > 0) && isText(w.Options...) &&
		isText(w.ID, w.Run, w.Frame, w.Kind, w.CallID, w.Tool, w.Arguments, w.Text)
}

// canonicalTools returns definitions of tools in the form that a journal would return.
func canonicalTools(defs []tools.Definition) []tools.Definition {
	if !slices.ContainsFunc(defs, func(d tools.Definition) bool { return !isPlainDefinition(&d) }) {
		return defs
	}
	r, err := canonical(Started{Tools: defs})
	if err != nil {
		return defs
	}
	return r.Tools
}

// canonicalCall returns a call in the form that a journal would return.
func canonicalCall(c messages.ToolCall) messages.ToolCall {
	if isPlainCall(&c) {
		return c
	}
	if r, err := canonical(Answered{Answer: nextstep.ToolResult{Call: new(c)}}); err == nil {
		return *r.Answer.(nextstep.ToolResult).Call
	}
	return c
}

// isText reports whether all texts are UTF-8.
func isText(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

// isPlain reports whether a journal would return the record unchanged, apart from its time and its
// tools.
func (r *Started) isPlain() bool {
	if r.Input.Messages != nil && len(r.Input.Messages) == 0 {
		return false
	}
	for _, m := range r.Input.Messages {
		if !isPlainMessage(m) {
			return false
		}
	}
	return r.Input.Data == nil && r.Temperature == nil && r.Metadata == nil && r.Labels == nil && r.Origin == nil && r.Fingerprints == nil &&
		isText(r.Run, r.Strategy, r.Input.Goal, r.StopNote, r.Model, r.Namespace, r.Nonce, r.Library)
}

// isPlainAnswer reports whether a journal would return the answer unchanged.
func isPlainAnswer(a nextstep.Answer) bool {
	switch a := a.(type) {
	case nextstep.APIResponse:
		r := a.Response
		return r != nil && r.Attempts == nil && isText(string(r.Finish), r.Model, r.Asked, r.ID) && isPlainMessage(r.Message)
	case nextstep.ToolResult:
		return a.Call == nil && isPlainOutput(&a.Output)
	case nextstep.Failure:
		return a.Partial.Content == nil && isPlainMessage(a.Partial) && a.Attempts == nil &&
			isText(string(a.Source), string(a.Code), a.Message, a.Model)
	default:
		return false
	}
}

// isPlainMessage reports whether a journal would return the message unchanged.
func isPlainMessage(m messages.Message) bool {
	switch m := m.(type) {
	case messages.System:
		return m.Extras == nil && isText(m.Text, m.Name, string(m.Cache))
	case messages.User:
		for _, part := range m.Content {
			if text, ok := part.(messages.Text); !ok || !isPlainText(&text) {
				return false
			}
		}
		return m.Extras == nil && isText(m.Name, string(m.Cache)) && (m.Content == nil || len(m.Content) > 0)
	case messages.Assistant:
		for _, part := range m.Content {
			if !isPlainPart(part) {
				return false
			}
		}
		return m.Extras == nil && isText(m.Name, string(m.Cache)) && (m.Content == nil || len(m.Content) > 0)
	case messages.Tool:
		return m.Extras == nil && isText(string(m.Cache)) && isPlainOutput(&m.ToolOutput)
	default:
		return false
	}
}

func isPlainDefinition(d *tools.Definition) bool {
	return isText(d.Name, d.Description, d.ApprovalNote, string(d.Cache)) && (d.Parameters == nil || isCompact(d.Parameters))
}

// isCompact reports whether a text is JSON that a journal would return unchanged.
func isCompact(text json.RawMessage) bool {
	var compact bytes.Buffer
	return utf8.Valid(text) && json.Compact(&compact, text) == nil && compact.Len() == len(text)
}

func isPlainPart(part messages.AssistantContent) bool {
	switch c := part.(type) {
	case messages.Text:
		return isPlainText(&c)
	case messages.Thought:
		return c.Extras == nil && isText(c.Text)
	case messages.ToolCall:
		return isPlainCall(&c)
	default:
		return false
	}
}

func isPlainText(t *messages.Text) bool {
	return t.Citations == nil && isText(t.Text, string(t.Cache))
}

func isPlainCall(c *messages.ToolCall) bool {
	return c.Extras == nil && isText(c.ID, c.Name, c.Arguments)
}

func isPlainOutput(o *messages.ToolOutput) bool {
	return o.Attachments == nil && o.Images == nil && isText(o.CallID, o.ToolName, o.Output, string(o.Status), o.Reason, o.Kept.ID)
}

// digester computes the digests of the steps of a frame. A digest covers the whole step, but costs
// only as much as its new parts: messages and tools that the previous step also had are not read
// twice.
type digester struct {
	conversation hash.Hash // hash of the messages that mark knows
	mark         messages.Mark
	text         []byte

	offered   *tools.Definition // the first of the tools in the digest
	offers    int               // the number of these tools
	toolsText [sha256.Size]byte

	other     llmclient.Request // the other fields of the last request
	otherText []byte
}

// digest returns the digest of a step of the frame, as hexadecimal digits.
func (f *frame) digest(step nextstep.NextStep) (string, error) {
	if f.digester == nil {
		f.digester = new(digester)
	}
	return f.digester.step(step)
}

func (d *digester) step(s nextstep.NextStep) (string, error) {
	ask, ok := s.(nextstep.GetChatCompletion)
	if !ok {
		text, err := nextstep.Marshal(s)
		if err != nil {
			return "", err
		}
		return hexSum(text), nil
	}
	if err := d.read(ask.Request.Messages); err != nil {
		return "", err
	}
	if err := d.readTools(ask.Request.Tools); err != nil {
		return "", err
	}
	if err := d.readOther(ask.Request); err != nil {
		return "", err
	}
	d.text = append(append(d.conversation.Sum(d.text[:0]), d.toolsText[:]...), d.otherText...)
	return hexSum(d.text), nil
}

// hexSum returns the digest of a text, as hexadecimal digits.
func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// readOther digests the fields of a request other than messages and tools, unless they are
// unchanged: strategies often send the same ones again.
func (d *digester) readOther(r llmclient.Request) error {
	r.Messages, r.Tools = nil, nil
	if d.otherText != nil && r.Extras == nil && r.Stop == nil && d.other.Extras == nil && d.other.Stop == nil &&
		r.Model == d.other.Model && r.ToolFormat == d.other.ToolFormat && r.ToolChoice == d.other.ToolChoice &&
		r.Schema == d.other.Schema && r.Temperature == d.other.Temperature && r.MaxTokens == d.other.MaxTokens {
		return nil
	}
	text, err := nextstep.Marshal(nextstep.GetChatCompletion{Request: r})
	if err != nil {
		return err
	}
	d.other, d.otherText = r, text
	return nil
}

// read digests the new messages of a conversation.
func (d *digester) read(h messages.History) error {
	old := d.mark.Known(h)
	if old == 0 {
		d.conversation = sha256.New()
	}
	d.mark = messages.Mark{}
	for _, m := range h[old:] {
		text, err := messages.AppendMessage(d.text[:0], m)
		if err != nil {
			return err
		}
		d.text = append(text, '\n')
		d.conversation.Write(d.text)
	}
	d.mark = h.Mark()
	return nil
}

func (d *digester) readTools(defs []tools.Definition) error {
	if len(defs) == 0 {
		d.offered, d.offers, d.toolsText = nil, 0, [sha256.Size]byte{}
		return nil
	}
	if d.offered == &defs[0] && d.offers == len(defs) {
		return nil
	}
	text, err := json.Marshal(defs)
	if err != nil {
		return err
	}
	d.offered, d.offers, d.toolsText = &defs[0], len(defs), sha256.Sum256(text)
	return nil
}

// digestOf returns the digest of a call.
func digestOf(c *messages.ToolCall) string {
	var room [256]byte
	text := room[:0]
	for _, part := range []string{c.ID, c.Name, c.Arguments} {
		text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
		text = append(text, part...)
	}
	return hexSum(text)
}

// Fingerprints returns the fingerprint of the table of each strategy in the set, by name, for
// [Config].Fingerprints. A strategy has no fingerprint if it has no table, or if its factory or its
// FSM method panics. Fingerprints makes each strategy once.
func Fingerprints(set strategy.Set) map[string]string {
	prints := map[string]string{}
	for name := range set {
		if sum := Fingerprint(set, name); sum != "" {
			prints[name] = sum
		}
	}
	return prints
}

// Fingerprint returns the fingerprint of the table of one strategy of the set, as in Fingerprints;
// "" if there is none.
func Fingerprint(set strategy.Set, name string) (sum string) {
	defer func() {
		if recover() != nil { // a run of that strategy reports the panic
			sum = ""
		}
	}()
	st, err := set.New(name)
	if err != nil {
		return ""
	}
	t, ok := st.(strategy.Tabler)
	if !ok {
		return ""
	}
	table := t.FSM().Table()
	if table == nil {
		return ""
	}
	return table.Fingerprint()
}
