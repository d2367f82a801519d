package trust

import (
	"maps"
)

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
	path, err := userPath(getenv, "mcp.json", "accepted tools")
	return AcceptedStore{path}, err
}

func (s AcceptedStore) file() recordFile { return recordFile{s.Path, "accepted tools"} }

// Load reads the record. If any part of it is invalid, Load returns an error, and nothing is
// accepted.
func (s AcceptedStore) Load() (Accepted, error) {
	f := acceptedFile{}
	if err := s.file().read(&f, func() error { return nil }); err != nil {
		return nil, err
	}
	if f.Servers == nil {
		f.Servers = Accepted{}
	}
	return f.Servers, nil
}

// Accept records that the tools of a server are accepted as they are now, and no others of it.
func (s AcceptedStore) Accept(server string, tools map[string]AcceptedTool) error {
	return s.file().change("remove "+s.Path+" to start again", func() (any, error) {
		all, err := s.Load()
		if err != nil {
			return nil, err
		}
		all[server] = maps.Clone(tools)
		return acceptedFile{recordVersion, all}, nil
	})
}
