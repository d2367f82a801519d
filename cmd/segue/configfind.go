package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// usualConfig is the name of a configuration that is found.
const usualConfig = "segue.yaml"

// ownConfigShown is where the user's own configuration usually is.
const ownConfigShown = "~/.config/segue/" + usualConfig

// lookup is where a configuration is looked for, as help texts say it.
const lookup = "SEGUE_CONFIG, your own, or " + usualConfig + " here or in a folder above; see segue config --help"

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

// configPath returns where the configuration is: what an argument or flag names, else SEGUE_CONFIG,
// else the user's own, else what is found. An argument that is given and empty is none.
func (c *cli) configPath(argument string, given bool) (configPlace, error) {
	if given {
		if argument == "" {
			return configPlace{}, nil
		}
		return configPlace{argument, originArgument}, nil
	}
	if named := c.getenv("SEGUE_CONFIG"); named != "" {
		return configPlace{named, originEnvironment}, nil
	}
	if folder := c.xdgFolder("XDG_CONFIG_HOME", ".config"); folder != "" {
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

// xdgFolder returns a folder of the XDG Base Directory Specification: that of a variable, or else
// one in the home folder. A path that is not absolute is not heeded; "" if there is none.
func (c *cli) xdgFolder(variable, inHome string) string {
	if folder := c.getenv(variable); filepath.IsAbs(folder) {
		return folder
	}
	home := c.getenv("HOME")
	if runtime.GOOS == "windows" {
		home = cmp.Or(home, c.getenv("USERPROFILE"))
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, inHome)
}
