package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	if err := replaceFile(path, append(data, '\n')); err != nil {
		return fmt.Errorf("mcptools: writing the pins: %w", err)
	}
	return nil
}

func replaceFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".pins-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	if err = f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
