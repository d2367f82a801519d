// Package xdg finds the folders of the XDG Base Directory Specification.
package xdg

import (
	"cmp"
	"path/filepath"
	"runtime"
)

// Folder returns a folder of the XDG Base Directory Specification: the value of a variable, or
// otherwise a folder in the home folder. Paths that are not absolute are ignored. It returns "" if
// there is none.
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
