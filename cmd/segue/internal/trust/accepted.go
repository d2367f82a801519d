package trust

import "maps"

// AcceptedTool is the definition of a tool of an MCP server that the user has accepted.
type AcceptedTool struct {
	Fingerprint string `json:"fingerprint"`    // of everything that the server says of the tool
	Text        string `json:"text,omitempty"` // the description and the parameters, to show later changes
}

// accepted is the record of what the user has accepted, by server, which is its command or its
// address, and by the server's name of the tool.
type accepted struct {
	Version int                                `json:"version"`
	Servers map[string]map[string]AcceptedTool `json:"servers"`
}

func (accepted) check() error { return nil }

// AcceptedStore is the file that holds the accepted tools. Several processes may use it at once.
type AcceptedStore struct{ Path string }

// UserAccepted returns the store of the user.
func UserAccepted(getenv func(string) string) (AcceptedStore, error) {
	path, err := userPath(getenv, "mcp.json", "accepted tools")
	return AcceptedStore{path}, err
}

func (s AcceptedStore) file() recordFile[accepted] {
	return recordFile[accepted]{s.Path, "accepted tools", accepted{Version: recordVersion}, "remove " + s.Path + " to start again"}
}

// Load reads the accepted tools of a server. If any part of the record is invalid, Load returns an
// error, and nothing is accepted.
func (s AcceptedStore) Load(server string) (map[string]AcceptedTool, error) {
	r, err := s.file().read()
	return r.Servers[server], err
}

// Accept records that the tools of a server are accepted as they are now, and no others of it.
func (s AcceptedStore) Accept(server string, tools map[string]AcceptedTool) error {
	return s.file().change(func(r *accepted) error {
		if r.Servers == nil {
			r.Servers = map[string]map[string]AcceptedTool{}
		}
		r.Servers[server] = maps.Clone(tools)
		return nil
	})
}
