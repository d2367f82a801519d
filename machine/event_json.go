package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// UnmarshalJSON decodes the JSON form of an event. The detail becomes the struct that belongs to
// the kind. A detail of an unknown kind is an error that names the kind.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	var raw struct {
		*plain
		Detail json.RawMessage `json:"detail"`
	}
	var read plain
	raw.plain = &read
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("machine: event: %w", err)
	}
	detail, err := readDetail(read.Kind, raw.Detail)
	if err != nil {
		return fmt.Errorf("machine: event %q: %w", read.Kind, err)
	}
	*e = Event(read)
	e.Detail = detail
	return nil
}

// details maps each kind of the library to its detail; nil: the kind has none.
var details = map[EventKind]Detail{
	EventRunStarted:   RunStarted{},
	EventRunResumed:   RunResumed{},
	EventFrameEntered: FrameEntered{},
	EventStateChanged: StateChanged{},
	EventStepTaken:    StepTaken{},
	EventTextDelta:    nil,
	EventThoughtDelta: nil,
	EventCallDelta:    CallDelta{},
	EventStepSnapshot: StepSnapshot{},
	EventToolStarted:  ToolStarted{},
	EventToolProgress: ToolProgress{},
	EventToolFinished: ToolFinished{},
	EventRetryWaiting: RetryWaiting{},
	EventWaitStarted:  WaitStarted{},
	EventWaitEnded:    WaitEnded{},
	EventCompacted:    Compacted{},
	EventNoted:        Noting{},
	EventNoteHeard:    Noting{},
	EventNoteUnheard:  Noting{},
	EventDrifted:      Drifted{},
	EventMigrated:     RunMigrated{},

	EventSnapshotFailed: SnapshotFailed{},

	EventFrameLeft:   FrameLeft{},
	EventRunFinished: RunFinished{},
}

// Reserved reports whether only the library may emit events of this kind.
func (k EventKind) Reserved() bool {
	_, ok := details[k]
	return ok
}

// readDetail decodes the detail of an event of that kind.
func readDetail(kind EventKind, data json.RawMessage) (Detail, error) {
	switch detail, ok := details[kind]; {
	case detail != nil:
		read := reflect.New(reflect.TypeOf(detail))
		if err := json.Unmarshal(data, read.Interface()); err != nil {
			return nil, err
		}
		return read.Elem().Interface().(Detail), nil
	case ok || len(data) == 0 || string(data) == "null": // a user's own kind has no detail
		return nil, nil
	default:
		return nil, errors.New("no event of this kind has a detail")
	}
}
