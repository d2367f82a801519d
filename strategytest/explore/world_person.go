package explore

import (
	"github.com/segue-go/segue/machine"
)

// personKind is the part of a wait that decides how it can end.
type personKind struct{ question, approval, expires bool }

// ofPerson returns the possible ends of a wait.
func (w *world) ofPerson(wait *machine.Wait) []Reaction {
	kind := personKind{question: wait.Kind == machine.WaitQuestion, approval: wait.Kind == machine.WaitApproval, expires: !wait.Expires.IsZero()}
	if w.persons[kind] == nil {
		if w.persons == nil {
			w.persons = map[personKind][]Reaction{}
		}
		w.persons[kind] = kind.reactions()
	}
	return w.persons[kind]
}

func (k personKind) reactions() []Reaction {
	reply := func(name string, odd bool, r machine.Reply) Reaction {
		return Reaction{Name: name, Odd: odd, Record: func(e *machine.Effect) machine.Record {
			r.WaitID = e.Wait.ID
			return machine.Replied{Reply: r}
		}}
	}
	var list []Reaction
	switch {
	case k.question:
		list = []Reaction{reply("answers", false, machine.Reply{Text: "that one"}), reply("declines", true, machine.Reply{Reason: "I do not know"})}
	default:
		list = []Reaction{reply("says yes", false, machine.Reply{Approve: true}), reply("says no", true, machine.Reply{Reason: "not now"})}
		if k.approval {
			list = append(list, reply("says yes to other arguments", true, machine.Reply{Approve: true, Arguments: `{"other":true}`}))
		}
	}
	if k.expires {
		list = append(list, Reaction{Name: "wait expires", Odd: true, Record: func(e *machine.Effect) machine.Record {
			return machine.Replied{At: expiry(e.Wait), Reply: machine.Reply{WaitID: e.Wait.ID}, Expired: true}
		}})
	}
	return list
}
