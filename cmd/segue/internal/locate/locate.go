// Package locate finds the configuration of a command, and knows who named it.
package locate

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/xdg"
)

// FileName is the name of a configuration file that can be found in a folder.
const FileName = "segue.yaml"

// Origin says where a configuration came from.
type Origin int

// The origins. Only a file with Found may belong to somebody else.
const (
	None        Origin = iota
	Argument           // named by the user: by --config, by an argument, or by a program
	Environment        // named by SEGUE_CONFIG
	Own                // the user's own, in the folder of XDG_CONFIG_HOME
	Found              // in the working folder or above
)

// String returns the text for users.
func (o Origin) String() string {
	switch o {
	case Argument:
		return "--config"
	case Environment:
		return "SEGUE_CONFIG"
	case Own:
		return "your own"
	case Found:
		return "found"
	default:
		return "none"
	}
}

// Place is the location of a configuration. The zero value means none.
type Place struct {
	Path   string
	Origin Origin
}

// Read reads the configuration at a place, like [config.Read]. It sets [config.Config.Found] if the
// file was found and not named.
func (p Place) Read() (*config.Config, error) {
	c, err := config.Read(p.Path)
	if err != nil {
		return nil, err
	}
	c.Found = p.Origin == Found
	return c, nil
}

// Default returns the place of the configuration if no flag or argument names one. It is the first
// of: the file that SEGUE_CONFIG names, the user's own file, the file that [Find] returns. The zero
// Place means that there is none. Getenv reads environment variables, like [os.Getenv].
func Default(getenv func(string) string) (Place, error) {
	if named := getenv("SEGUE_CONFIG"); named != "" {
		return Place{named, Environment}, nil
	}
	if folder := xdg.Folder(getenv, "XDG_CONFIG_HOME", ".config"); folder != "" {
		if own := filepath.Join(folder, "segue", FileName); exists(own) {
			return Place{own, Own}, nil
		}
	}
	found, err := Find()
	if err != nil || found == "" {
		return Place{}, err
	}
	return Place{found, Found}, nil
}

// Find returns the path of the configuration in the working folder or the nearest folder above; ""
// if there is none. The file may belong to somebody else.
func Find() (string, error) {
	if exists(FileName) {
		return FileName, nil
	}
	folder, err := os.Getwd()
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return "", errors.New("cannot tell the working folder, in which a configuration may be; name one with SEGUE_CONFIG")
	}
	for above := filepath.Dir(folder); above != folder; folder, above = above, filepath.Dir(above) {
		if path := filepath.Join(above, FileName); exists(path) {
			return path, nil
		}
	}
	return "", nil
}

// exists reports whether a file or folder has the name. It returns false for a name in an
// unreadable folder.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Hidden returns the path of the configuration that [Find] returns but that is not used, because
// another one was named; "" if there is none, or if it is the same file.
func (p Place) Hidden() string {
	if p.Origin == None || p.Origin == Found {
		return ""
	}
	found, err := Find()
	if err != nil || found == "" {
		return ""
	}
	a, errA := os.Stat(p.Path)
	b, errB := os.Stat(found)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return ""
	}
	return found
}
