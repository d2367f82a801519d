package machine

import (
	"encoding/json"
	"fmt"
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

// readDetail reads the detail of an event of that kind.
func readDetail(kind EventKind, data json.RawMessage) (Detail, error) {
	switch kind {
	case EventTextDelta, EventThoughtDelta:
		return nil, nil
	case EventRunStarted:
		return decode[RunStarted](data)
	case EventRunResumed:
		return decode[RunResumed](data)
	case EventFrameEntered:
		return decode[FrameEntered](data)
	case EventStateChanged:
		return decode[StateChanged](data)
	case EventStepTaken:
		return decode[StepTaken](data)
	case EventToolStarted:
		return decode[ToolStarted](data)
	case EventToolProgress:
		return decode[ToolProgress](data)
	case EventToolFinished:
		return decode[ToolFinished](data)
	case EventRetryWaiting:
		return decode[RetryWaiting](data)
	case EventWaitStarted:
		return decode[WaitStarted](data)
	case EventWaitEnded:
		return decode[WaitEnded](data)
	case EventNoted:
		return decode[Noting](data)
	case EventDrifted:
		return decode[Drifted](data)
	case EventFrameLeft:
		return decode[FrameLeft](data)
	case EventRunFinished:
		return decode[RunFinished](data)
	default: // somebody's own kind has no detail
		if len(data) == 0 || string(data) == "null" {
			return nil, nil
		}
		return nil, fmt.Errorf("no event of this kind has a detail")
	}
}

func decode[D Detail](data json.RawMessage) (Detail, error) {
	var d D
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	return d, nil
}
