package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// UnmarshalJSON reads the JSON form of an event, which is that of its fields: the detail becomes
// the struct that belongs to the kind. A detail of an unknown kind is an error that names the kind.
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

// details has the detail of each kind that is the library's; nil: there is none.
var details = map[EventKind]Detail{
	EventRunStarted:   RunStarted{},
	EventRunResumed:   RunResumed{},
	EventFrameEntered: FrameEntered{},
	EventStateChanged: StateChanged{},
	EventStepTaken:    StepTaken{},
	EventTextDelta:    nil,
	EventThoughtDelta: nil,
	EventCallDelta:    CallDelta{},
	EventToolStarted:  ToolStarted{},
	EventToolProgress: ToolProgress{},
	EventToolFinished: ToolFinished{},
	EventRetryWaiting: RetryWaiting{},
	EventWaitStarted:  WaitStarted{},
	EventWaitEnded:    WaitEnded{},
	EventNoted:        Noting{},
	EventDrifted:      Drifted{},
	EventFrameLeft:    FrameLeft{},
	EventRunFinished:  RunFinished{},
}

// Reserved reports whether a kind is the library's.
func (k EventKind) Reserved() bool {
	_, ok := details[k]
	return ok
}

// readDetail reads the detail of an event of that kind.
func readDetail(kind EventKind, data json.RawMessage) (Detail, error) {
	switch detail, ok := details[kind]; {
	case detail != nil:
		read := reflect.New(reflect.TypeOf(detail))
		if err := json.Unmarshal(data, read.Interface()); err != nil {
			return nil, err
		}
		return read.Elem().Interface().(Detail), nil
	case ok || len(data) == 0 || string(data) == "null": // somebody's own kind has no detail
		return nil, nil
	default:
		return nil, errors.New("no event of this kind has a detail")
	}
}
