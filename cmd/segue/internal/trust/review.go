package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of what is shown of a configuration, so that its servers stand in sight of the question.
const (
	maxChanges  = 40  // lines
	maxAgents   = 8   // lines
	maxServers  = 12  // lines
	maxHostName = 300 // characters of a host and port; a name in the DNS has at most 253
)

// review is a configuration that was found, held against the record of trusted files.
type review struct {
	config *configuration
	now    trustedFile
	before trustedFile
	known  bool // before is the entry that the record has
	getenv func(string) string
}

// newReview holds a configuration against the record.
func newReview(config *configuration, store trustStore, getenv func(string) string) (review, error) {
	path, err := trustPath(config.path)
	if err != nil {
		return review{}, err
	}
	record, err := store.load()
	if err != nil {
		return review{}, err
	}
	r := review{config: config, now: trusted(path, config.source(), keyedServer(config, getenv)), getenv: getenv}
	r.before, r.known = record.find(path)
	return r, nil
}

// keyedServer returns the server of the environment where a model without a server of its own sends
// it a key that the file names; else "". The user trusts that as well.
func keyedServer(c *configuration, getenv func(string) string) string {
	for _, m := range c.Models {
		at := configuredEndpoint(m.BaseURL, m.APIKeyEnv, getenv)
		if m.BaseURL == "" && !at.meantForEnvironment() {
			if server, ok := at.origin(); ok {
				return server
			}
		}
	}
	return ""
}

// trusted reports whether the configuration is trusted as it is.
func (r review) trusted() bool {
	return r.known && r.before.SHA256 == r.now.SHA256 && r.before.Server == r.now.Server
}

// state says what the user has to know before anything else.
func (r review) state() string {
	name := visible(r.config.path)
	switch {
	case r.trusted():
		return name + " is trusted"
	case !r.known:
		return name + " was found and is not trusted"
	case r.before.SHA256 == r.now.SHA256:
		return name + " was trusted for another server of the environment"
	default:
		return name + " has changed since it was trusted"
	}
}

// notes shows the configuration: first what changed, then what its agents may do, and at last the
// servers and keys, which the rest cannot push out of sight. What has too many of those to be read
// is an error.
func (r review) notes(columns int) ([]note, error) {
	servers, err := r.servers()
	if err != nil {
		return nil, err
	}
	notes := append([]note{{bold, r.state()}, {plain, "  " + visible(r.now.Path)}}, r.changes(columns)...)
	notes = append(notes, note{plain, "Its agents, with what they say of approval:"})
	notes = append(notes, r.agents(columns)...)
	notes = append(notes, note{plain, "Its servers, with the keys that they are sent:"})
	return append(notes, servers...), nil
}

// changes shows how the file differs from what was trusted.
func (r review) changes(columns int) []note {
	if !r.known || r.trusted() {
		return nil
	}
	if r.before.SHA256 == r.now.SHA256 {
		return []note{{warn, fmt.Sprintf("The server of the environment is %s. It was %s.", shownServer(r.now.Server), shownServer(r.before.Server))}}
	}
	if r.before.Text == "" || r.now.Text == "" {
		return []note{{warn, "What changed cannot be shown: the file is long."}}
	}
	changed := difference(r.before.Text, r.now.Text)
	notes := []note{{plain, "What changed:"}}
	for _, line := range changed[:min(maxChanges, len(changed))] {
		notes = append(notes, note{line.style, head("  | "+strings.TrimPrefix(line.text, "  "), columns)})
	}
	if more := len(changed) - maxChanges; more > 0 {
		notes = append(notes, note{warn, "  and " + counted(more, "more line")})
	}
	return notes
}

// shownServer names a server of the record; "" is none.
func shownServer(server string) string {
	if server == "" {
		return "sent no key"
	}
	return hostShown(server)
}

// agents shows the words of approval of each agent. None of them can allow what the command line
// does not, so that nothing is lost with those that are left out.
func (r review) agents(columns int) []note {
	var notes []note
	names := slices.Sorted(maps.Keys(r.config.Agents))
	for _, name := range names[:min(maxAgents, len(names))] {
		a := r.config.Agents[name]
		said := []string{}
		if a.Approval.Default != "" {
			said = append(said, "default: "+a.Approval.Default)
		}
		for _, tool := range slices.Sorted(maps.Keys(a.Approval.Tools)) {
			said = append(said, tool+": "+a.Approval.Tools[tool])
		}
		line := note{plain, "  " + name + ": " + strings.Join(said, ", ")}
		if len(said) == 0 {
			line.text += approveAsk
		}
		if words := a.loosened(); len(words) > 0 {
			line = note{warn, "  " + name + " (you are asked all the same): " + strings.Join(said, ", ")}
		}
		line.text = head(visible(line.text), columns)
		notes = append(notes, line)
	}
	if more := len(names) - maxAgents; more > 0 {
		notes = append(notes, note{plain, "  and " + counted(more, "more agent")})
	}
	return notes
}

// servers shows each server with the variable of the key that it is sent, and the models that it is
// asked for.
func (r review) servers() ([]note, error) {
	models := map[account][]string{}
	add := func(at account, model string) {
		if server, ok := at.origin(); ok { // the path does not matter
			at.url = server
		}
		models[at] = append(models[at], model)
	}
	for _, name := range slices.Sorted(maps.Keys(r.config.Models)) {
		m := r.config.Models[name]
		add(configuredEndpoint(m.BaseURL, m.APIKeyEnv, r.getenv), name)
	}
	if len(models) == 0 {
		add(configuredEndpoint("", "", r.getenv), "of the environment")
	}
	var notes []note
	for at, names := range models {
		host := hostShown(at.url)
		if len(models) > maxServers || len(host) > maxHostName {
			return nil, fmt.Errorf("%s has more servers, or longer names of servers, than can be shown; read it, and name it with --config", visible(r.config.path))
		}
		notes = append(notes, serverNote(at, host, names))
	}
	slices.SortFunc(notes, func(a, b note) int { return strings.Compare(a.text, b.text) })
	return notes, nil
}

// serverNote shows a server. Those that are sent a key come last in the order of their texts.
func serverNote(at account, host string, models []string) note {
	names := "model " + head(strings.Join(models, ", "), textColumns)
	switch {
	case at.variable == "":
		return note{plain, fmt.Sprintf("  no key to %s (%s)", host, names)}
	case at.misdirected():
		return note{warn, fmt.Sprintf("  refuses $%s to %s, which is for the server of the environment (%s)", at.variable, host, names)}
	case exposed(at.url):
		return note{warn, fmt.Sprintf("  sends $%s to %s without encryption: it can be read on its way (%s)", at.variable, host, names)}
	default:
		return note{warn, fmt.Sprintf("  sends $%s to %s (%s)", at.variable, host, names)}
	}
}
