package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/cmd/segue/internal/xdg"
	"github.com/segue-go/segue/internal/wholefile"
)

const acceptedVersion = 1

// AcceptedTool is the definition of a tool of an MCP server that the user has accepted.
type AcceptedTool struct {
	Fingerprint string `json:"fingerprint"`    // of everything that the server says of the tool
	Text        string `json:"text,omitempty"` // the description and the parameters, to show later changes
}

// Accepted holds what the user has accepted: by server, which is its command or its address, and by
// the server's name of the tool.
type Accepted map[string]map[string]AcceptedTool

// acceptedFile is the form of the record on disk.
type acceptedFile struct {
	Version int      `json:"version"`
	Servers Accepted `json:"servers"`
}

// AcceptedStore is the file that holds the accepted tools. Several processes may use it at once.
type AcceptedStore struct{ Path string }

// UserAccepted returns the store of the user.
func UserAccepted(getenv func(string) string) (AcceptedStore, error) {
	folder := xdg.Folder(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	if folder == "" {
		return AcceptedStore{}, errors.New("cannot tell where the record of accepted tools is: set HOME or XDG_STATE_HOME")
	}
	return AcceptedStore{filepath.Join(folder, "segue", "mcp.json")}, nil
}

// Load reads the record. If any part of it is invalid, Load returns an error, and nothing is
// accepted.
func (s AcceptedStore) Load() (Accepted, error) {
	data, err := regularfile.Read(s.Path, maxTrustRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return Accepted{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the record of accepted tools: %w", err)
	}
	var version struct{ Version int }
	f := acceptedFile{}
	err = json.Unmarshal(data, &version)
	switch {
	case err != nil:
	case version.Version != acceptedVersion:
		err = fmt.Errorf("it has version %d, and this segue knows version %d", version.Version, acceptedVersion)
	default:
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&f)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the record of accepted tools, %s: %w; remove it to start again", s.Path, err)
	}
	if f.Servers == nil {
		f.Servers = Accepted{}
	}
	return f.Servers, nil
}

// Accept records that the tools of a server are accepted as they are now, and no others of it. It
// does not lose changes by other processes at the same time.
func (s AcceptedStore) Accept(server string, tools map[string]AcceptedTool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write the record of accepted tools: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(s.Path + ".lock").Lock()
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.Load()
	if err != nil {
		return err
	}
	all[server] = maps.Clone(tools)
	data, err := json.MarshalIndent(acceptedFile{acceptedVersion, all}, "", "  ")
	if err == nil && len(data) >= maxTrustRecord {
		err = fmt.Errorf("it would be too long; remove %s to start again", s.Path)
	}
	if err != nil {
		return err
	}
	return wholefile.Replace(s.Path, append(data, '\n'))
}
