// Package autopolicy finds out, once for a server and a model, in which way the model calls tools
// best, and remembers it in a file of the user.
package autopolicy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/cmd/segue/internal/xdg"
	"github.com/segue-go/segue/internal/wholefile"
	"github.com/segue-go/segue/markdownpolicy"
)

// Choice is what was found out about a model at a server.
type Choice struct {
	Server string    `json:"server"` // the base URL, without user, password and query
	API    string    `json:"api"`
	Model  string    `json:"model"`
	Policy string    `json:"policy"` // "": the tool calls of the server
	Works  bool      `json:"works"`  // the model came as far as an answer by the result of a call
	Tried  time.Time `json:"tried"`
}

// Text says what was chosen.
func (c Choice) Text() string {
	text := cmp.Or(c.Policy, "the tool calls of the server")
	if !c.Works {
		text += " (no way worked as far as the answer)"
	}
	return text
}

func choiceFor(at endpoint.Client) Choice {
	return Choice{Server: doctor.Shown(at.BaseURL), API: cmp.Or(at.API, endpoint.Chat), Model: at.Model}
}

// about reports whether two choices are about the same server, API and model.
func (c Choice) about(other Choice) bool {
	return c.Server == other.Server && c.API == other.API && c.Model == other.Model
}

// Memory is the path of the file with the choices; "": nothing is remembered.
type Memory string

// MemoryOf returns the file in the state folder of the user.
func MemoryOf(getenv func(string) string) Memory {
	folder := xdg.Folder(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	if folder == "" {
		return ""
	}
	return Memory(filepath.Join(folder, "segue", "policies.json"))
}

const (
	version = 1
	maxFile = 16 << 20
)

// record is what the file holds.
type record struct {
	Version int      `json:"version"`
	Choices []Choice `json:"choices"`
}

// read returns the choices of the file. With an error there are none.
func (m Memory) read() ([]Choice, error) {
	if m == "" {
		return nil, nil
	}
	data, err := regularfile.Read(string(m), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && r.Version != version {
		err = fmt.Errorf("it has version %d, and this segue knows version %d", r.Version, version)
	}
	for _, c := range r.Choices {
		if _, wrong := textpolicy.New(c.Policy, markdownpolicy.Options{}); err == nil && c.Policy != "" && wrong != nil {
			err = wrong
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the record of text formats, %s, cannot be used, and is made anew: %w", plaintext.Visible(string(m)), err)
	}
	return r.Choices, nil
}

// Recall returns what was chosen for a model at a server; false if nothing was. The error says that
// the file cannot be used.
func (m Memory) Recall(at endpoint.Client) (Choice, bool, error) {
	all, err := m.read()
	i := slices.IndexFunc(all, choiceFor(at).about)
	if i < 0 {
		return Choice{}, false, err
	}
	return all[i], true, nil
}

// Keep remembers the best way of those that were tried with a model at a server. A file that cannot
// be used is replaced.
func (m Memory) Keep(at endpoint.Client, best doctor.Way) (Choice, error) {
	c := choiceFor(at)
	c.Policy, c.Works, c.Tried = best.Policy, best.Answered, time.Now().UTC().Truncate(time.Second)
	if m == "" {
		return c, errors.New("the text format is not remembered: set HOME or XDG_STATE_HOME")
	}
	all, _ := m.read()
	all = append(slices.DeleteFunc(all, c.about), c)
	data, err := json.MarshalIndent(record{version, all}, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(string(m)), 0o700)
	}
	if err == nil {
		err = wholefile.Replace(string(m), append(data, '\n'))
	}
	if err != nil {
		return c, fmt.Errorf("the text format is not remembered: %w", err)
	}
	return c, nil
}

// Choose returns the text format for a model at a server, "" for the tool calls of the server. It
// tries the ways if nothing is remembered, and tells so. The error says why they could not be
// tried.
func (m Memory) Choose(ctx context.Context, cfg doctor.Config, tell func(string)) (string, error) {
	known, ok, err := m.Recall(cfg.Client)
	if err != nil {
		tell(err.Error())
	}
	if ok {
		return known.Policy, nil
	}
	at := choiceFor(cfg.Client)
	tell(plaintext.Visible("policy auto: trying in which ways " + at.Model + " calls tools at " + at.Server + ", once"))
	best, err := doctor.Choose(ctx, cfg)
	if err != nil {
		tell("policy auto: it could not be tried")
		return "", err
	}
	chosen, err := m.Keep(cfg.Client, best)
	if tell("policy auto: " + chosen.Text()); err != nil {
		tell(err.Error())
	}
	return chosen.Policy, nil
}
