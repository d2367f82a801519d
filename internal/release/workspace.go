package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// workspace is the list of modules of a go.work.
type workspace struct {
	dir      string
	modules  []module // each after those that it requires
	replaced []string // modules and versions that go.work replaces, as path@version
}

// module is one module of a workspace.
type module struct {
	path     string
	dir      string   // below the folder of the workspace, with slashes; "." is the folder itself
	requires []string // paths of modules of the workspace
}

// tag returns the name under which the go command looks for a version of the module.
func (m module) tag(v string) string { return path.Join(m.dir, v) }

// root returns the path of the module in the workspace's own folder.
func (w *workspace) root() string {
	return w.modules[slices.IndexFunc(w.modules, func(m module) bool { return m.dir == "." })].path
}

// own reports whether a path is that of a module of the workspace.
func (w *workspace) own(path string) bool {
	return slices.ContainsFunc(w.modules, func(m module) bool { return m.path == path })
}

type jsonModule struct {
	Module  struct{ Path string }
	Require []struct{ Path string }
	Replace []json.RawMessage
}

type jsonWork struct {
	Use     []struct{ DiskPath string }
	Replace []struct {
		Old struct{ Path, Version string }
	}
}

// open reads the workspace in a folder. A module that a go.mod replaces is an error, because a
// replacement prevents a module from being installed.
func open(ctx context.Context, dir string) (*workspace, error) {
	var work jsonWork
	if err := (command{dir: dir, env: os.Environ()}).decode(ctx, &work, "work", "edit", "-json"); err != nil {
		return nil, err
	}
	w := &workspace{dir: dir}
	for _, r := range work.Replace {
		w.replaced = append(w.replaced, r.Old.Path+"@"+r.Old.Version)
	}
	all := map[string]module{}
	for _, use := range work.Use {
		var mod jsonModule
		if err := (command{dir: filepath.Join(dir, use.DiskPath), env: os.Environ()}).decode(ctx, &mod, "mod", "edit", "-json"); err != nil {
			return nil, err
		}
		if len(mod.Replace) > 0 {
			return nil, fmt.Errorf("release: go.mod of %s replaces modules, so it cannot be installed: replace them in go.work", mod.Module.Path)
		}
		m := module{path: mod.Module.Path, dir: path.Clean(filepath.ToSlash(use.DiskPath))}
		for _, r := range mod.Require {
			m.requires = append(m.requires, r.Path)
		}
		all[m.path] = m
	}
	return w, w.sort(all)
}

// sort fills the list of modules, each after those that it requires.
func (w *workspace) sort(all map[string]module) error {
	for name, m := range all {
		m.requires = slices.DeleteFunc(m.requires, func(p string) bool { return all[p].path == "" })
		all[name] = m
	}
	for len(w.modules) < len(all) {
		var ready []module
		for _, m := range all {
			if !w.own(m.path) && !slices.ContainsFunc(m.requires, func(p string) bool { return !w.own(p) }) {
				ready = append(ready, m)
			}
		}
		if len(ready) == 0 {
			return fmt.Errorf("release: modules of the workspace require each other in a circle")
		}
		slices.SortFunc(ready, func(a, b module) int { return strings.Compare(a.path, b.path) })
		w.modules = append(w.modules, ready...)
	}
	if !slices.ContainsFunc(w.modules, func(m module) bool { return m.dir == "." }) {
		return fmt.Errorf("release: go.work does not use the module in its own folder")
	}
	return nil
}
