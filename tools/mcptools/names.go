package mcptools

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/segue-go/segue/tools"
)

// mostName is the longest name that package tools and the providers take.
const mostName = 64

// mostServerName is the longest name of a tool that MCP allows.
const mostServerName = 128

var (
	errNameEmpty   = errors.New("its name is empty")
	errNameLong    = errors.New("its name has more than 128 bytes, the most that MCP allows")
	errNameUTF8    = errors.New("its name is not UTF-8")
	errNameControl = errors.New("its name has control characters, blanks or invisible characters")
)

// toolName returns the name under which a model sees a tool of a server. A name that package tools
// takes stays as it is, behind the prefix. Any other becomes one whose last nine bytes are "_" and
// the beginning of the SHA-256 of the prefix and the server's name, so that two names of a server
// never become one, and the same name always becomes the same.
func toolName(prefix, name string) (string, error) {
	switch {
	case name == "":
		return "", errNameEmpty
	case len(name) > mostServerName:
		return "", errNameLong
	case !utf8.ValidString(name):
		return "", errNameUTF8
	}
	for _, r := range name {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return "", errNameControl
		}
	}
	full := prefix + name
	plain := true
	kept := make([]byte, 0, mostName)
	for _, r := range full {
		if !isNameRune(r) {
			plain, r = false, '_'
		}
		kept = append(kept, byte(r))
	}
	if plain && len(full) <= mostName {
		return full, nil
	}
	sum := sha256.Sum256([]byte(full))
	end := "_" + hex.EncodeToString(sum[:4])
	return string(kept[:min(len(kept), mostName-len(end))]) + end, nil
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

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
