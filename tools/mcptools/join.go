package mcptools

import "github.com/segue-go/segue/tools"

// Join returns the tools of several toolsets, as [Toolset.Tools] does. If two have the same name,
// the error is a [*CollisionError].
func Join(sets ...*Toolset) ([]tools.Tool, error) {
	var all []tools.Tool
	owner := map[string]string{}
	for _, s := range sets {
		for _, t := range s.Tools() {
			name := t.Definition().Name
			if first, taken := owner[name]; taken {
				return nil, &CollisionError{Tool: name, First: first, Second: s.Name()}
			}
			owner[name] = s.Name()
			all = append(all, t)
		}
	}
	return all, nil
}
