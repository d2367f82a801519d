package explore

import (
	"github.com/segue-go/segue/machine"
)

// ofPerson returns how a wait can end.
func ofPerson(w *machine.Wait) []Reaction {
	reply := func(name string, r machine.Reply) Reaction {
		return Reaction{name, func(e *machine.Effect) machine.Record {
			r.WaitID = e.Wait.ID
			return machine.Replied{Reply: r}
		}}
	}
	var list []Reaction
	switch w.Kind {
	case machine.WaitQuestion:
		list = []Reaction{reply("answers", machine.Reply{Text: "that one"}), reply("declines", machine.Reply{Reason: "I do not know"})}
	default:
		list = []Reaction{reply("says yes", machine.Reply{Approve: true}), reply("says no", machine.Reply{Reason: "not now"})}
		if w.Kind == machine.WaitApproval {
			list = append(list, reply("says yes to other arguments", machine.Reply{Approve: true, Arguments: `{"other":true}`}))
		}
	}
	if !w.Expires.IsZero() {
		list = append(list, Reaction{"wait expires", func(e *machine.Effect) machine.Record {
			return machine.Replied{At: expiry(e.Wait), Reply: machine.Reply{WaitID: e.Wait.ID}, Expired: true}
		}})
	}
	return list
}
