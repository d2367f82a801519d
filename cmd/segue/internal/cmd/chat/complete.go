package chat

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/attachment"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/lineedit"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// complete returns what the last word of a line may become. Only commands are completed.
func (ch *chat) complete(before string) []lineedit.Word {
	line, is := strings.CutPrefix(before, "/")
	if !is || strings.Contains(line, "\n") {
		return nil
	}
	var found []lineedit.Word
	name, _, argument := strings.Cut(line, " ")
	word := before[strings.LastIndexByte(before, ' ')+1:]
	for _, c := range chatCommands() {
		switch {
		case !argument && strings.HasPrefix(c.name, name):
			found = append(found, lineedit.Word{Text: "/" + c.name, About: c.about})
		case argument && c.name == name && c.complete != nil:
			for _, text := range c.complete(ch, word) {
				found = append(found, lineedit.Word{Text: text, About: ch.about(c.name, text), Goes: strings.HasSuffix(text, "/")})
			}
		}
	}
	return found
}

// about describes a completion: an agent, by what the configuration says of it.
func (ch *chat) about(command, text string) string {
	if command != "agent" {
		return ""
	}
	return plaintext.Head(plaintext.OneLine(ch.cfg.Agents[text].Description), 50)
}

// agentsFor returns the agents whose names begin with a word.
func (ch *chat) agentsFor(word string) []string {
	if ch.cfg == nil {
		return nil
	}
	return beginning(word, slices.Collect(maps.Keys(ch.cfg.Agents)))
}

// modelsFor returns the models that are known by name and begin with a word.
func (ch *chat) modelsFor(word string) []string {
	all := []string{ch.flags.Model, endpoint.EnvironmentModel(ch.flags.API.Value, ch.Getenv)}
	if ch.cfg != nil {
		all = append(slices.Collect(maps.Keys(ch.cfg.Models)), ch.flags.Model)
	}
	return beginning(word, all)
}

// beginning returns the names that begin with a word, in order.
func beginning(word string, names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" || !strings.HasPrefix(name, word) })
	slices.Sort(names)
	return slices.Compact(names)
}

// most is how many files are offered.
const most = 100

// filesFor returns the files whose paths begin with a word. Hidden ones must be begun.
func filesFor(_ *chat, word string) (found []string) {
	folder, name := filepath.Split(word)
	entries, err := os.ReadDir(cmp.Or(attachment.InHome(folder), "."))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		text := e.Name()
		if !strings.HasPrefix(text, name) || name == "" && text[0] == '.' || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
			continue
		}
		if info, err := os.Stat(filepath.Join(cmp.Or(attachment.InHome(folder), "."), text)); err == nil && info.IsDir() {
			text += "/"
		}
		if found = append(found, folder+text); len(found) == most {
			break
		}
	}
	return found
}
