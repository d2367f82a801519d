package delegation

// Stack is a stack of frames. The zero value is empty and ready. It is not safe for concurrent use.
type Stack[F any] struct{ frames []F }

// Push adds f at the top.
func (s *Stack[F]) Push(f F) { s.frames = append(s.frames, f) }

// Pop removes the top frame and returns it. It returns false if the stack is empty.
func (s *Stack[F]) Pop() (F, bool) {
	top, ok := s.Top()
	if ok {
		var zero F
		last := len(s.frames) - 1
		s.frames[last] = zero // so that the frame can be garbage collected
		s.frames = s.frames[:last]
	}
	return top, ok
}

// Top returns the top frame. It returns false if the stack is empty.
func (s *Stack[F]) Top() (F, bool) {
	if len(s.frames) == 0 {
		var zero F
		return zero, false
	}
	return s.frames[len(s.frames)-1], true
}

// Depth returns the number of frames.
func (s *Stack[F]) Depth() int { return len(s.frames) }

// All returns the frames from the bottom to the top. The stack owns the slice: it is read-only, and
// valid until the next Push or Pop.
func (s *Stack[F]) All() []F { return s.frames }
