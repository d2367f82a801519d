// Package trust keeps the record of configurations that the user trusts, and shows one before it is
// trusted.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxTrustedText is the maximum size of a stored file, used to show changes later.
const maxTrustedText = 64 << 10

// Record holds the files that the user trusts, in the order of their paths.
type Record struct {
	Version int    `json:"version"`
	Files   []File `json:"files"`
}

// File is a configuration that was trusted, with its content at that time.
type File struct {
	Path   string `json:"path"`             // see Path
	SHA256 string `json:"sha256"`           // hash of the content, in hexadecimal digits
	Server string `json:"server,omitempty"` // server of the environment, if a key that the file names goes there
	Text   string `json:"text,omitempty"`   // the content; "" if it is too long or not text
}

// FileOf returns the entry of a file with this content.
func FileOf(path string, content []byte, server string) File {
	sum := sha256.Sum256(content)
	made := File{Path: path, SHA256: hex.EncodeToString(sum[:]), Server: server}
	if len(content) <= maxTrustedText && utf8.Valid(content) {
		made.Text = string(content)
	}
	return made
}

// find returns the entry of a path; false if there is none.
func (r Record) find(path string) (File, bool) {
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return File{}, false
	}
	return r.Files[i], true
}

// without returns the entries of all other paths.
func (r Record) without(path string) []File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f File) bool { return f.Path == path })
}

// check returns an error for a record that this program cannot have written.
func (r Record) check() error {
	for i, f := range r.Files {
		sum, err := hex.DecodeString(f.SHA256)
		if err != nil || len(sum) != sha256.Size || !filepath.IsAbs(f.Path) || i > 0 && r.Files[i-1].Path >= f.Path {
			return fmt.Errorf("its entry %d is damaged", i+1)
		}
	}
	return nil
}

// Store is the file that holds a [Record]. Several processes may use it at once.
type Store struct{ Path string }

// UserStore returns the store of the user.
func UserStore(getenv func(string) string) (Store, error) {
	path, err := userPath(getenv, "trust.json", "trusted files")
	return Store{path}, err
}

func (s Store) file() recordFile[Record] {
	return recordFile[Record]{s.Path, "trusted files", Record{recordVersion, []File{}}, "remove a file with segue trust --remove"}
}

// Load reads the record. If any part of it is invalid, Load returns an error, and no file is
// trusted.
func (s Store) Load() (Record, error) { return s.file().read() }

// Add adds a file to the record, and replaces an older entry.
func (s Store) Add(f File) error {
	return s.file().change(func(r *Record) error {
		r.Files = append(r.without(f.Path), f)
		slices.SortFunc(r.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		return nil
	})
}

// Remove removes a file from the record.
func (s Store) Remove(path string) error {
	return s.file().change(func(r *Record) error {
		if _, ok := r.find(path); !ok {
			return fmt.Errorf("%s is not trusted; segue trust --list lists what is", path)
		}
		r.Files = r.without(path)
		return nil
	})
}

// Path returns the path under which a file is trusted. It is absolute, and the links in it are
// resolved, except that the file itself may be a link. The file need not exist, but its folder
// must.
func Path(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(whole))
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, filepath.Base(whole)), nil
}
