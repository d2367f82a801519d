package machine

import "slices"

// move changes the state of an effect.
func (m *Machine) move(e *effect, to effectState) {
	m.states[e.state]--
	m.states[to]++
	e.state = to
}

// placed returns the number of effects that count for Parallel.
func (m *Machine) placed() int { return m.states[intending] + m.states[open] }

// queuedEffect is an entry of the queue. If the effect has left the queue, or its memory was
// reused, the effect has another place and the entry is void.
type queuedEffect struct {
	*effect
	place int
}

// enqueue appends an effect to the queue.
func (m *Machine) enqueue(e *effect) {
	m.move(e, queued)
	m.places++
	e.place = m.places
	m.queue = append(m.queue, queuedEffect{e, e.place})
}

// dequeue removes and returns the first effect of the queue; nil if there is none.
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

// spentTokens checks again, before a queued effect is released, whether tokens are left. It returns
// the ending of the highest frame whose tokens are used up; nil if there is none, or if the effect
// needs no tokens.
func (m *Machine) spentTokens(e *effect) *ending {
	if e.kind == EffectTool {
		return nil
	}
	return m.reached(e.frame, tokens)
}

// dispatch releases queued effects, up to the limit of Parallel.
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

// release adds an effect to Ready. A call whose verdict is not stored yet keeps its place, but is
// not released.
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

// intend adds the intent of an effect to Ready, to be stored.
func (m *Machine) intend(e *effect, v Verdict) {
	e.pending = true
	r := Intended{Effect: e.id, Frame: e.frame.name, Tool: e.call.Name, Digest: e.digest, Verdict: v}
	if e.kind != EffectTool {
		r.Kind = e.kind
	}
	m.intents = append(m.intents, r)
}

// withdrawIntent removes the intent of an effect from Ready. Usually it is the first one there.
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

// withdrawRelease removes an effect from Ready if the engine has not seen it yet, and reports
// whether it did.
func (m *Machine) withdrawRelease(id EffectID) bool {
	i := slices.IndexFunc(m.out.Effects, func(e Effect) bool { return e.ID == id })
	if i >= 0 {
		m.out.Effects = slices.Delete(m.out.Effects, i, i+1)
	}
	return i >= 0
}
