package runs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/internal/journals"
)

// The versions of the files that Export writes: those of runs with values have the second.
const (
	exportVersion       = 1
	exportVersionValues = 2
)

// exported is a run as a file, but for its records.
type exported struct {
	Version   int               `json:"segue_run"`
	Namespace string            `json:"namespace,omitempty"`
	Run       string            `json:"run"`
	Header    checkpoint.Header `json:"header"` // how the run stood; Import finds it out anew
	Created   time.Time         `json:"created"`
	Updated   time.Time         `json:"updated"`
}

// exportedWhole is the file.
type exportedWhole struct {
	exported
	Records []json.RawMessage `json:"records"`
	Values  []exportedValue   `json:"values,omitempty"`
}

// Error says why a run cannot be forked, or a file cannot be imported: nothing was stored.
type Error struct {
	Key    checkpoint.Key // of the run; zero if a file does not say
	Record int            // that is the problem; 0: it is none
	Err    error

	fork bool
}

// Error names the run and the record.
func (e *Error) Error() string {
	place := ""
	if e.fork {
		if e.Record > 0 {
			place = fmt.Sprintf(" at record %d", e.Record)
		}
		return fmt.Sprintf("orchestrator: run %.64q cannot be forked%s: %v", e.Key.String(), place, e.Err)
	}
	if e.Key.Run != "" {
		place = fmt.Sprintf(" run %.64q", e.Key.String())
	}
	if e.Record > 0 {
		place += fmt.Sprintf(", record %d", e.Record)
	}
	return fmt.Sprintf("orchestrator: the file of a run cannot be imported:%s: %v", place, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Export writes a run as one JSON file: how it stands, and its records, each in a line. It holds
// all that the journal holds: prompts, replies, arguments and results of tools, those that are kept
// beside it ([orchestrator.LargeResults]), and what is secret in them. Whoever works on the run is
// not disturbed; what is stored meanwhile is left out. An error is a [*orchestrator.JournalError],
// a [*orchestrator.ConfigError], or that of w.
func Export(ctx context.Context, o *orchestrator.Orchestrator, key checkpoint.Key, w io.Writer) error {
	head, err := o.Head(ctx, key)
	if err != nil {
		return err
	}
	access := o.Journals()
	rd, err := access.Read(key)
	if err != nil {
		return err
	}
	values, err := access.Values(ctx, key, nil)
	if err != nil {
		return err
	}
	version := exportVersion
	if len(values) > 0 {
		version = exportVersionValues
	}
	first, err := json.Marshal(exported{version, key.Namespace, key.Run, head.Header, head.Created.UTC(), head.Updated.UTC()})
	if err != nil {
		return rd.Damaged(0, err)
	}
	b := bufio.NewWriter(w)
	_, _ = b.Write(first[:len(first)-1]) // what goes wrong Flush says
	_, _ = b.WriteString(",\"records\":[")
	for rec, err := range rd.Records(ctx) {
		if err != nil {
			return err
		}
		if rec.Seq > head.Last {
			break
		}
		if !json.Valid(rec.Data) {
			return rd.Damaged(rec.Seq, journals.Corrupt(errors.New("it is not JSON")))
		}
		if rec.Seq > 1 {
			_ = b.WriteByte(',')
		}
		_ = b.WriteByte('\n')
		_, _ = b.Write(rec.Data)
	}
	_, _ = b.WriteString("\n]")
	if err := exportValues(ctx, key, values, b); err != nil {
		return err
	}
	_, _ = b.WriteString("}\n")
	return b.Flush()
}

// ImportOption is an option of [Import].
type ImportOption func(*importing)

type importing struct{ approvals bool }

// WithApprovals takes over the approvals of calls that have no result yet: whoever goes on with the
// run makes these calls without asking anybody. It is for a run that moves from one store of yours
// to another, and not for a file from elsewhere.
func WithApprovals() ImportOption {
	return func(how *importing) { how.approvals = true }
}

// Import stores a run that [Export] has written, under its own id and namespace, and returns its
// head. It goes on with [orchestrator.Orchestrator.Resume]: until then it is parked, unless it
// waits for somebody or has ended. Take care that it does not go on where it came from as well: the
// calls of both have the same idempotency keys.
//
// An import carries no approvals, unless [WithApprovals] is given. If a person approved a call that
// has no result in the file, the imported run ends before that approval, and the person is asked
// again: Last of the head says where. What the run did after it is done again. So it is with the
// call of an agent that is at work, and that the policy of this process would not allow unasked.
//
// The records are read and applied to a Machine, with the strategies of this process, before
// anything is stored. Errors are an [*Error], a [*orchestrator.FactoryError], a
// [*orchestrator.RunExistsError] if there is such a run, a [*orchestrator.JournalError] if the
// store fails, and a [*orchestrator.ConfigError].
func Import(ctx context.Context, o *orchestrator.Orchestrator, r io.Reader, options ...ImportOption) (checkpoint.Head, error) {
	var none checkpoint.Head
	var how importing
	for _, option := range options {
		option(&how)
	}
	file, err := readExported(r)
	if err != nil {
		return none, err
	}
	key := checkpoint.Key{Namespace: file.Namespace, Run: file.Run}
	if err := key.Check(); err != nil {
		return none, &Error{Err: err}
	}
	if _, err := o.Head(ctx, key); err == nil {
		return none, &orchestrator.RunExistsError{Run: key.Run, Err: checkpoint.ErrConflict}
	} else if !errors.Is(err, checkpoint.ErrNotFound) {
		return none, err
	}
	access, values := o.Journals(), valuesIn(file)
	if err := access.Takes(ctx, values); err != nil {
		return none, &Error{Key: key, Err: err}
	}
	rd, records, err := applyImported(ctx, access, key, file, how.approvals)
	if err != nil {
		return none, err
	}
	return access.Store(ctx, &journals.Run{
		Key: key, Machine: rd.Machine, Records: records, Values: values, Reason: "it was imported: resume it", Version: &file.Header.Version,
	})
}

// importReading is the reading of a file.
type importReading struct{ *journals.Reading }

// applyImported applies the records of a file, and returns them as they are stored. If no approvals
// are carried, it leaves out those from the first open one on.
func applyImported(ctx context.Context, access journals.Access, key checkpoint.Key, file *exportedWhole, carry bool) (*importReading, []checkpoint.Record, error) {
	for cut := 0; ; {
		read, err := access.Read(key)
		if err != nil {
			return nil, nil, err
		}
		rd := &importReading{read}
		rd.Head = &checkpoint.Head{Key: key, Header: file.Header, Last: len(file.Records), Created: file.Created, Updated: file.Updated}
		records, approved, err := rd.readAllImported(ctx, file.Records)
		if refused, ok := errors.AsType[*Error](err); ok && cut > 0 {
			refused.Err = fmt.Errorf("record %d approves or allows a call that has no result, and without that the run cannot be imported: %w", cut, refused.Err)
		}
		if err != nil {
			return nil, nil, err
		}
		if cut = approved.firstOpen(rd.Machine); cut == 0 || carry {
			return rd, records, nil
		}
		file.Records = file.Records[:cut-1]
	}
}

// readAllImported reads and applies the records of a file, and returns them as they are stored, and
// what was approved by them.
func (rd *importReading) readAllImported(ctx context.Context, file []json.RawMessage) ([]checkpoint.Record, approvals, error) {
	records, approved := make([]checkpoint.Record, len(file)), approvals{}
	for i, data := range file {
		var err error
		records[i], err = rd.readImported(ctx, i+1, data, approved)
		if _, ok := errors.AsType[*orchestrator.FactoryError](err); ok {
			return nil, nil, err
		}
		if err != nil {
			return nil, nil, &Error{Key: rd.Key, Record: i + 1, Err: err}
		}
	}
	if err := rd.Err(); err != nil {
		return nil, nil, &Error{Key: rd.Key, Record: rd.Unfit.Place, Err: err}
	}
	if len(records) == 0 {
		return nil, nil, &Error{Key: rd.Key, Err: errors.New("it has no records")}
	}
	return records, approved, nil
}

// readImported reads and applies a record of a file, and returns it as it is stored. It notes what
// the record approves.
func (rd *importReading) readImported(ctx context.Context, seq int, data []byte, approved approvals) (checkpoint.Record, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return checkpoint.Record{}, err
	}
	stored := checkpoint.Record{Seq: seq, Data: compact.Bytes()}
	rec, err := rd.Decode(stored)
	if err != nil {
		return stored, err
	}
	approved.noteReply(rd.Machine, rec, seq)
	if _, err := rd.Apply(ctx, rec); err != nil {
		return stored, err
	}
	if rd.Unfit == nil {
		approved.noteMigrated(rec, seq)
		approved.noteAllowed(rd.Machine, rec, seq)
	}
	stored.Type = machine.TypeOf(rec)
	return stored, nil
}

// readExported reads a file, but not its records.
func readExported(r io.Reader) (*exportedWhole, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, &Error{Err: err}
	}
	var version struct {
		Version int `json:"segue_run"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, &Error{Err: fmt.Errorf("it is not the JSON of a run: %w", err)}
	}
	switch {
	case version.Version == 0:
		return nil, &Error{Err: errors.New("it has no segue_run: it is not the file of a run")}
	case version.Version != exportVersion && version.Version != exportVersionValues:
		return nil, &Error{Err: fmt.Errorf("its version is %d, and this release reads %d and %d", version.Version, exportVersion, exportVersionValues)}
	}
	file := new(exportedWhole)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(file); err != nil {
		return nil, &Error{Err: err}
	}
	if file.Version == exportVersion && len(file.Values) > 0 {
		return nil, &Error{Err: fmt.Errorf("it has values, which files have from version %d on", exportVersionValues)}
	}
	return file, nil
}

// exportedValue is a large result in a file.
type exportedValue struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// exportValues writes values behind the records of a run, each in a line.
func exportValues(ctx context.Context, key checkpoint.Key, values []journals.Value, b *bufio.Writer) error {
	for i, v := range values {
		text, err := v.Text(ctx)
		if err != nil {
			return err
		}
		data, err := json.Marshal(exportedValue{v.ID, text})
		if err != nil {
			return &orchestrator.JournalError{Run: key.Run, Err: err}
		}
		before := ","
		if i == 0 {
			before = ",\"values\":["
		}
		_, _ = b.WriteString(before + "\n") // what goes wrong Flush says
		_, _ = b.Write(data)
	}
	if len(values) > 0 {
		_, _ = b.WriteString("\n]")
	}
	return nil
}

// valuesIn returns the values of a file.
func valuesIn(file *exportedWhole) (values []journals.Value) {
	for _, v := range file.Values {
		values = append(values, journals.Value{ID: v.ID, Text: func(context.Context) (string, error) { return v.Text, nil }})
	}
	return values
}
