package machine

// Offers reports whether the model of a frame may call a tool now: the last request offered the
// tool, and the frame is allowed to call it, or its strategy brought it.
func (m *Machine) Offers(frame, tool string) bool {
	for _, f := range m.frames() {
		if f.name == frame {
			def, _ := f.tool(tool, "")
			return def != nil
		}
	}
	return false
}
