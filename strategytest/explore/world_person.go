package explore

import (
	"github.com/segue-go/segue/machine"
)

// ofPerson returns how a wait can end.
func ofPerson(w *machine.Wait) []Reaction {
	reply := func(name string, odd bool, r machine.Reply) Reaction {
		return Reaction{Name: name, Odd: odd, Record: func(e *machine.Effect) machine.Record {
			r.WaitID = e.Wait.ID
			return machine.Replied{Reply: r}
		}}
	}
	var list []Reaction
	switch w.Kind {
	case machine.WaitQuestion:
		list = []Reaction{reply("answers", false, machine.Reply{Text: "that one"}), reply("declines", true, machine.Reply{Reason: "I do not know"})}
	default:
		list = []Reaction{reply("says yes", false, machine.Reply{Approve: true}), reply("says no", true, machine.Reply{Reason: "not now"})}
		if w.Kind == machine.WaitApproval {
			list = append(list, reply("says yes to other arguments", true, machine.Reply{Approve: true, Arguments: `{"other":true}`}))
		}
	}
	if !w.Expires.IsZero() {
		list = append(list, Reaction{Name: "wait expires", Odd: true, Record: func(e *machine.Effect) machine.Record {
			return machine.Replied{At: expiry(e.Wait), Reply: machine.Reply{WaitID: e.Wait.ID}, Expired: true}
		}})
	}
	return list
}
