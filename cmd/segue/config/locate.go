package main

import (
	"errors"
	"os"
	"path/filepath"
)

// usualConfig is the name of a configuration that is found.
const usualConfig = "segue.yaml"

// origin says how a configuration was come by.
type origin int

// The origins. Only a file that was found may come from somebody else.
const (
	originNone        origin = iota
	originArgument           // named by --config or by an argument
	originEnvironment        // named by SEGUE_CONFIG
	originOwn                // the user's own, in the folder of XDG_CONFIG_HOME
	originFound              // in the working folder or above
)

// String says it to people.
func (o origin) String() string {
	switch o {
	case originArgument:
		return "--config"
	case originEnvironment:
		return "SEGUE_CONFIG"
	case originOwn:
		return "your own"
	case originFound:
		return "found"
	default:
		return "none"
	}
}

// configPlace is where a configuration is. The zero value is none.
type configPlace struct {
	path   string
	origin origin
}

// locateConfig returns where the configuration is that nobody named by a flag or an argument: what
// SEGUE_CONFIG names, else the user's own, else what is found.
func locateConfig(getenv func(string) string) (configPlace, error) {
	if named := getenv("SEGUE_CONFIG"); named != "" {
		return configPlace{named, originEnvironment}, nil
	}
	if folder := xdgFolder(getenv, "XDG_CONFIG_HOME", ".config"); folder != "" {
		if own := filepath.Join(folder, "segue", usualConfig); exists(own) {
			return configPlace{own, originOwn}, nil
		}
	}
	found, err := findConfig()
	if err != nil || found == "" {
		return configPlace{}, err
	}
	return configPlace{found, originFound}, nil
}

// findConfig returns the configuration in the working folder or the nearest one above; "" if there
// is none.
func findConfig() (string, error) {
	if exists(usualConfig) {
		return usualConfig, nil
	}
	folder, err := os.Getwd()
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return "", errors.New("cannot tell the working folder, in which a configuration may be; name one with --config, or '' for none")
	}
	for above := filepath.Dir(folder); above != folder; folder, above = above, filepath.Dir(above) {
		if path := filepath.Join(above, usualConfig); exists(path) {
			return path, nil
		}
	}
	return "", nil
}

// exists reports whether something has the name. A folder that may not be looked into has nothing.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// hidden returns the configuration that would have been found, had none been named; "" if it is the
// same one.
func (p configPlace) hidden() string {
	if p.origin == originNone || p.origin == originFound {
		return ""
	}
	found, err := findConfig()
	if err != nil || found == "" {
		return ""
	}
	a, errA := os.Stat(p.path)
	b, errB := os.Stat(found)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return ""
	}
	return found
}
