// Package xdg finds the folders of the XDG Base Directory Specification.
package xdg

import (
	"cmp"
	"path/filepath"
	"runtime"
)

// Folder returns a folder of the XDG Base Directory Specification: that of a variable, or else
// one in the home folder. A path that is not absolute is not heeded; "" if there is none.
func Folder(getenv func(string) string, variable, inHome string) string {
	if folder := getenv(variable); filepath.IsAbs(folder) {
		return folder
	}
	home := getenv("HOME")
	if runtime.GOOS == "windows" {
		home = cmp.Or(home, getenv("USERPROFILE"))
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, inHome)
}
