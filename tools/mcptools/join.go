package mcptools

import (
	"fmt"

	"github.com/segue-go/segue/tools"
)

// Join returns the tools of several toolsets, as [Toolset.Tools] does. It is an error if two have
// the same name.
func Join(sets ...*Toolset) ([]tools.Tool, error) {
	var all []tools.Tool
	owner := map[string]string{}
	for _, s := range sets {
		for _, t := range s.Tools() {
			name := t.Definition().Name
			if first, taken := owner[name]; taken {
				return nil, fmt.Errorf("mcptools: the servers %.64q and %.64q both offer a tool %q: give one of them a Prefix, or leave the tool out of its Allow",
					first, s.Name(), name)
			}
			owner[name] = s.Name()
			all = append(all, t)
		}
	}
	return all, nil
}
