package explore

import "github.com/segue-go/segue/machine"

// journal holds the records of the last decoded walk. The next such walk often begins with the same
// reactions, and so with the same records, which are then not decoded again.
type journal struct {
	path    []choice
	records []machine.Record // as they were read
	ends    []int            // how many of them there are after the first one, and after each reaction
	known   int              // how many the walk that has begun has in common with the last one
	next    int              // the record that is due

	forms map[string]machine.Record // records by their JSON forms
	size  int                       // of the forms, in bytes
	text  []byte
}

// mostForms is how many bytes of JSON are kept with their records.
const mostForms = 1 << 22

// along begins a walk along a path. Without it, a walk reads every record.
func (j *journal) along(path []choice) {
	same := 0
	for same < len(path) && same < len(j.path) && path[same] == j.path[same] {
		same++
	}
	if same < len(j.ends) {
		j.ends = j.ends[:same+1]
		j.known = j.ends[same]
	} else {
		j.ends, j.known = j.ends[:0], 0
	}
	j.path = append(j.path[:0], path...)
}

// reacted notes that the records of the first step, or of the next reaction, are complete.
func (j *journal) reacted(reactions int) {
	if len(j.ends) == reactions {
		j.ends = append(j.ends, j.next)
	}
}

// begin begins a walk. If it has no record in common with the last one, nothing is known of that
// one any more.
func (j *journal) begin() {
	j.next = 0
	if j.known == 0 {
		j.path, j.ends = j.path[:0], j.ends[:0]
	}
}

// read returns a record as it is read from its JSON form.
func (j *journal) read(rec machine.Record) (machine.Record, error) {
	if j.next < j.known {
		j.next++
		return j.records[j.next-1], nil
	}
	text, err := machine.AppendRecord(j.text[:0], rec)
	if err != nil {
		return nil, err
	}
	j.text = text
	rec, known := j.forms[string(text)]
	if !known {
		if rec, err = machine.ReadRecord(text); err != nil {
			return nil, err
		}
		j.keep(text, rec)
	}
	j.records = append(j.records[:j.next], rec)
	j.next++
	return rec, nil
}

// keep stores the decoded record of a JSON form: many states differ in few records.
func (j *journal) keep(text []byte, rec machine.Record) {
	if j.size += len(text); j.forms == nil || j.size > mostForms {
		j.forms, j.size = map[string]machine.Record{}, len(text)
	}
	j.forms[string(text)] = rec
}
