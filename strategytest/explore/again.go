package explore

import "github.com/segue-go/segue/machine"

// way is a mode of walking a path again. Each mode can show a mistake of a strategy.
type way uint8

const (
	plain     way = iota
	decoded       // every record is encoded as JSON and decoded
	scribbled     // the spare capacity of slices that the strategy returned is overwritten
	closely       // like decoded; a stand-in also checks the arguments and results of methods
	restored      // a strategy that was restored from a snapshot takes its place
)

// again walks to a node once more, and checks that the strategy decides as it did the first time.
func (x *exploration) again(at int32, path []choice, as way) bool {
	err := x.walkAs(as, path)
	sum := x.nodes[at].steps
	if err == nil && as != plain {
		sum, _ = x.run.checksum()
	}
	switch {
	case err != nil:
		x.violate(x.lawOf(as, path, x.nodes[at].steps), path, "the second time: "+err.Error())
	case sum != x.nodes[at].steps:
		asks := x.run.pending()
		x.violate(x.lawOf(as, path, x.nodes[at].steps), path, "the second time it asks for "+asks+", and not exactly as the first time")
	default:
		return true
	}
	return false
}

// walkAs walks along a path in the given way.
func (x *exploration) walkAs(as way, path []choice) error {
	x.run.as = as
	defer func() { x.run.as = plain }()
	if as == decoded {
		x.run.journal.along(path)
		defer func() { x.run.journal.known = 0 }()
	}
	if err := x.run.start(&x.config, x.task); err != nil {
		return err
	}
	if as == decoded {
		x.taken = x.taken[:0]
	}
	for i, c := range path {
		if as == decoded {
			x.run.journal.reacted(i)
			x.taken = append(x.taken, x.take(c))
		}
		r := x.taken[i].reaction
		if !x.run.fits(c, x.taken[i].kind) {
			r = nil
		}
		if err := x.run.react(r, c); err != nil {
			return err
		}
	}
	if as == decoded {
		x.run.journal.reacted(len(path))
	}
	return nil
}

// onPath is the reaction of a choice, kept for later walks along the same path.
type onPath struct {
	reaction *Reaction
	kind     machine.EffectKind // of its effect; "" for the whole run
}

// take returns the reaction of a choice in the current state of the walk.
func (x *exploration) take(c choice) onPath {
	t := onPath{reaction: x.reaction(c)}
	if t.reaction != nil && c.effect != whole {
		t.kind = x.run.open[c.effect].Kind
	}
	return t
}
