package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/segue-go/segue/internal/wholefile"
)

// Pins are the definitions of tools that somebody has accepted, as fingerprints, for a file beside
// a program's configuration. After a look at a server's tools, keep
// pins.Servers[name] = toolset.Fingerprints(), write the file, and give Config.Pinned that entry
// from then on.
type Pins struct {
	Servers map[string]map[string]string // server, the server's name of the tool: fingerprint
}

type pinsFile struct {
	Version int                          `json:"version"`
	Servers map[string]map[string]string `json:"servers"`
}

const pinsVersion = 1

// ReadPins reads pins from a file that [Pins.Write] has written. A file that does not exist holds
// none.
func ReadPins(path string) (*Pins, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Pins{Servers: map[string]map[string]string{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mcptools: reading the pins: %w", err)
	}
	var f pinsFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("mcptools: the pins in %s: %w", path, err)
	}
	if f.Version != pinsVersion {
		return nil, fmt.Errorf("mcptools: the pins in %s have version %d, and this program reads %d", path, f.Version, pinsVersion)
	}
	if f.Servers == nil {
		f.Servers = map[string]map[string]string{}
	}
	return &Pins{Servers: f.Servers}, nil
}

// Write writes the pins to a file, which it replaces as a whole.
func (p *Pins) Write(path string) error {
	data, err := json.MarshalIndent(pinsFile{Version: pinsVersion, Servers: p.Servers}, "", "  ")
	if err != nil {
		return fmt.Errorf("mcptools: the pins: %w", err)
	}
	if err := wholefile.Replace(path, append(data, '\n')); err != nil {
		return fmt.Errorf("mcptools: writing the pins: %w", err)
	}
	return nil
}
