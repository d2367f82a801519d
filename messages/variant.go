package messages

// This file converts any value of the interfaces to a variant as a value, for Repair.

// messageValue returns m as a value and the repair that was needed, or "" if none was. An invalid
// message becomes nil.
func messageValue(m Message) (Message, RepairKind) {
	switch m := m.(type) {
	case System, User, Assistant, Tool:
		return m, ""
	case *System:
		return dereference[Message](m)
	case *User:
		return dereference[Message](m)
	case *Assistant:
		return dereference[Message](m)
	case *Tool:
		return dereference[Message](m)
	default:
		return nil, repairDropped
	}
}

func userPartValue(c UserContent) (UserContent, RepairKind) {
	switch c := c.(type) {
	case Text, Image, File, Audio:
		return c, ""
	case *Text:
		return dereference[UserContent](c)
	case *Image:
		return dereference[UserContent](c)
	case *File:
		return dereference[UserContent](c)
	case *Audio:
		return dereference[UserContent](c)
	default:
		return nil, repairPartDropped
	}
}

func assistantPartValue(c AssistantContent) (AssistantContent, RepairKind) {
	switch c := c.(type) {
	case Text, Thought, ToolCall:
		return c, ""
	case *Text:
		return dereference[AssistantContent](c)
	case *Thought:
		return dereference[AssistantContent](c)
	case *ToolCall:
		return dereference[AssistantContent](c)
	default:
		return nil, repairPartDropped
	}
}

// dereference returns the value of p as the sum S.
func dereference[S, V any](p *V) (S, RepairKind) {
	if p == nil {
		var none S
		return none, repairDropped
	}
	return any(*p).(S), repairDereferenced
}

// repairParts returns content with every part as a value. It returns content itself if nothing
// needs to change.
func repairParts[C any](r *repairer, index int, content []C, value func(C) (C, RepairKind)) []C {
	var kept []C
	for i, c := range content {
		v, kind := value(c)
		if kind == "" {
			if kept != nil {
				kept = append(kept, c)
			}
			continue
		}
		if kept == nil {
			kept = append(make([]C, 0, len(content)), content[:i]...)
		}
		if kind == repairDereferenced {
			kept = append(kept, v)
		} else {
			kind = repairPartDropped
		}
		r.note(index, kind, "")
	}
	if kept == nil {
		return content
	}
	return kept
}
