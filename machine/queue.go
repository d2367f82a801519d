package machine

import "slices"

// move changes the state of an effect.
func (m *Machine) move(e *effect, to effectState) {
	m.states[e.state]--
	m.states[to]++
	e.state = to
}

// placed is how many of the places that Parallel bounds are taken.
func (m *Machine) placed() int { return m.states[intending] + m.states[open] }

// queuedEffect is a place in the queue. The effect may have left the queue otherwise, and what it
// is kept in may be in use again: then its place is another one, and this one is void.
type queuedEffect struct {
	*effect
	place int
}

// enqueue has an effect wait for its place.
func (m *Machine) enqueue(e *effect) {
	m.move(e, queued)
	m.places++
	e.place = m.places
	m.queue = append(m.queue, queuedEffect{e, e.place})
}

// dequeue returns the effect that is the first in the queue; nil if there is none.
func (m *Machine) dequeue() *effect {
	for m.head < len(m.queue) {
		q := m.queue[m.head]
		m.queue[m.head] = queuedEffect{}
		if m.head++; m.head > len(m.queue)/2 {
			m.queue = slices.Delete(m.queue, 0, m.head)
			m.head = 0
		}
		if q.effect.place == q.place && q.state == queued {
			return q.effect
		}
	}
	return nil
}

// spentTokens returns what ends the highest frame whose tokens are used up, now that an effect is
// to be released that was reserved before; nil if there are some left, or it takes none.
func (m *Machine) spentTokens(e *effect) *ending {
	if e.kind == EffectTool {
		return nil
	}
	return m.reached(e.frame, tokens)
}

// dispatch gives places to effects that wait for one, as long as there are places.
func (m *Machine) dispatch() {
	for m.placed() < m.parallel {
		e := m.dequeue()
		if e == nil {
			return
		}
		switch limit := m.spentTokens(e); {
		case limit != nil:
			m.end(limit)
			m.runFrames()
		case e.needsIntent():
			m.move(e, intending)
			if !e.pending {
				m.intend(e, VerdictAllow)
			}
		default:
			m.release(e)
		}
	}
}

// release hands an effect out. What becomes of a call whose verdict is not stored yet is not known,
// and so it keeps its place and is handed to nobody.
func (m *Machine) release(e *effect) {
	m.move(e, open)
	if e.pending {
		return
	}
	m.toolStarted(e)
	n := len(m.out.Effects)
	m.out.Effects = slices.Grow(m.out.Effects, 1)[:n+1]
	m.fillIn(e, &m.out.Effects[n])
}

// intend asks for the intent of an effect to be stored.
func (m *Machine) intend(e *effect, v Verdict) {
	e.pending = true
	m.intents = append(m.intents, Intended{Effect: e.id, Frame: e.frame.name, Tool: e.call.Name, Digest: e.digest, Verdict: v})
}

// withdrawIntent takes back what was asked for of an effect. As a rule that is the first of what is
// asked for.
func (m *Machine) withdrawIntent(e *effect) {
	if !e.pending {
		return
	}
	e.pending = false
	for i := m.stored; i < len(m.intents); i++ {
		if m.intents[i].(Intended).Effect != e.id {
			continue
		}
		if i > m.stored {
			m.intents = slices.Delete(m.intents, i, i+1)
		} else {
			m.intents[i] = nil
			m.stored++
		}
		return
	}
}

// withdrawRelease takes back what was released and not yet handed out, and reports whether there
// was any such thing.
func (m *Machine) withdrawRelease(id EffectID) bool {
	i := slices.IndexFunc(m.out.Effects, func(e Effect) bool { return e.ID == id })
	if i >= 0 {
		m.out.Effects = slices.Delete(m.out.Effects, i, i+1)
	}
	return i >= 0
}
