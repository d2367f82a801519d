package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// Limits of what is shown of a configuration, so that its servers stay visible beside the question.
const (
	maxChanges  = 40  // lines
	maxAgents   = 8   // lines
	maxServers  = 12  // lines
	maxHostName = 300 // characters of host and port; a DNS name has at most 253
)

// Review compares a configuration that was found with the record of trusted files.
type Review struct {
	Config *config.Config
	Now    File
	before File
	known  bool // before is the entry in the record
	store  Store
	getenv func(string) string
}

// NewReview compares a configuration with the record of the user.
func NewReview(cfg *config.Config, getenv func(string) string) (Review, error) {
	path, err := Path(cfg.Path)
	if err != nil {
		return Review{}, err
	}
	store, err := UserStore(getenv)
	if err != nil {
		return Review{}, err
	}
	record, err := store.Load()
	r := Review{Config: cfg, Now: FileOf(path, cfg.Text(), keyedServer(cfg, getenv)), store: store, getenv: getenv}
	r.before, r.known = record.find(path)
	return r, err
}

// Trust records that the configuration is trusted.
func (r Review) Trust() error { return r.store.Add(r.Now) }

// keyedServer returns the servers of the environment, one for each maker of an API, to which models
// without their own server send a key that the file names, with blanks between them; "" means none.
// Trust includes these servers.
func keyedServer(c *config.Config, getenv func(string) string) string {
	var all []string
	for _, m := range c.Models {
		at := endpoint.Configured(m.API, m.BaseURL, m.APIKeyEnv, getenv)
		if m.BaseURL == "" && !at.MeantForEnvironment() {
			if server, ok := at.Origin(); ok {
				all = append(all, server)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// Trusted reports whether the configuration is trusted with its current content.
func (r Review) Trusted() bool {
	return r.known && r.before.SHA256 == r.Now.SHA256 && r.before.Server == r.Now.Server
}

// State returns the first line for the user: why the configuration is not trusted.
func (r Review) State() string {
	name := plaintext.Visible(r.Config.Path)
	switch {
	case r.Trusted():
		return name + " is trusted"
	case !r.known:
		return name + " was found and is not trusted"
	case r.before.SHA256 == r.Now.SHA256:
		return name + " was trusted for another server of the environment"
	default:
		return name + " has changed since it was trusted"
	}
}

// Lines shows the configuration: first the changes, then the approval of its agents, and last the
// servers and keys, so that other lines cannot hide them. If there are too many servers to read,
// Lines returns an error.
func (r Review) Lines(columns int) ([]terminal.Line, error) {
	servers, err := r.servers()
	if err != nil {
		return nil, err
	}
	mcp, err := r.mcpServers(columns)
	if err != nil {
		return nil, err
	}
	lines := append([]terminal.Line{terminal.Bold.Line(r.State()), terminal.Plain.Line("  " + plaintext.Visible(r.Now.Path))}, r.changes(columns)...)
	lines = append(lines, terminal.Plain.Line("Its agents, with what they say of approval:"))
	lines = append(lines, r.agents(columns)...)
	lines = append(lines, terminal.Plain.Line("Its servers, with the keys that they are sent:"))
	lines = append(lines, servers...)
	if len(mcp) > 0 {
		lines = append(lines, terminal.Plain.Line("Its MCP servers, whose tools its agents may use:"))
	}
	return append(lines, mcp...), nil
}

// changes shows how the file differs from the trusted content.
func (r Review) changes(columns int) []terminal.Line {
	if !r.known || r.Trusted() {
		return nil
	}
	if r.before.SHA256 == r.Now.SHA256 {
		return []terminal.Line{terminal.Warn.Line(fmt.Sprintf("The server of the environment is %s. It was %s.", serverShown(r.Now.Server), serverShown(r.before.Server)))}
	}
	if r.before.Text == "" || r.Now.Text == "" {
		return []terminal.Line{terminal.Warn.Line("What changed cannot be shown: the file is long.")}
	}
	changed := terminal.Difference(r.before.Text, r.Now.Text)
	lines := []terminal.Line{terminal.Plain.Line("What changed:")}
	for _, line := range changed[:min(maxChanges, len(changed))] {
		lines = append(lines, line.Style.Line(plaintext.Head("  | "+strings.TrimPrefix(line.Text, "  "), columns)))
	}
	if more := len(changed) - maxChanges; more > 0 {
		lines = append(lines, terminal.Warn.Line("  and "+plaintext.Counted(more, "more line")))
	}
	return lines
}

// serverShown returns the text for the servers of the record; "" means none.
func serverShown(servers string) string {
	if servers == "" {
		return "sent no key"
	}
	all := strings.Fields(servers)
	for i, server := range all {
		all[i] = endpoint.HostShown(server)
	}
	return strings.Join(all, " and ")
}

// agents shows the approval of each agent. It may omit agents, because no agent can allow more than
// the command line does.
func (r Review) agents(columns int) []terminal.Line {
	var lines []terminal.Line
	names := slices.Sorted(maps.Keys(r.Config.Agents))
	for _, name := range names[:min(maxAgents, len(names))] {
		a := r.Config.Agents[name]
		said, looser := a.ApprovalSaid()
		line := terminal.Plain.Line("  " + name + ": " + strings.Join(said, ", "))
		if len(said) == 0 {
			line.Text += approve.Ask
		}
		if len(looser) > 0 {
			line = terminal.Warn.Line("  " + name + " (you are asked all the same): " + strings.Join(said, ", "))
		}
		line.Text = plaintext.Head(plaintext.Visible(line.Text), columns)
		lines = append(lines, line)
	}
	if more := len(names) - maxAgents; more > 0 {
		lines = append(lines, terminal.Plain.Line("  and "+plaintext.Counted(more, "more agent")))
	}
	return lines
}

// servers shows each server with the variable of its key, and its models.
func (r Review) servers() ([]terminal.Line, error) {
	models := map[endpoint.Endpoint][]string{}
	add := func(at endpoint.Endpoint, model string) {
		if server, ok := at.Origin(); ok { // the path of the address does not matter
			at.URL = server
		}
		at.API = "" // it says nothing of where a key goes
		models[at] = append(models[at], model)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Config.Models)) {
		m := r.Config.Models[name]
		add(endpoint.Configured(m.API, m.BaseURL, m.APIKeyEnv, r.getenv), name)
	}
	if len(models) == 0 {
		add(endpoint.Configured(endpoint.Chat, "", "", r.getenv), "of the environment")
	}
	var lines []terminal.Line
	for at, names := range models {
		host := endpoint.HostShown(at.URL)
		if len(models) > maxServers || len(host) > maxHostName {
			return nil, fmt.Errorf("%s has more servers, or longer names of servers, than can be shown; read it, and name it with --config", plaintext.Visible(r.Config.Path))
		}
		lines = append(lines, serverLine(at, host, names))
	}
	slices.SortFunc(lines, func(a, b terminal.Line) int { return strings.Compare(a.Text, b.Text) })
	return lines, nil
}

// serverLine shows a server. Sorted by text, servers that get a key come last.
func serverLine(at endpoint.Endpoint, host string, models []string) terminal.Line {
	names := "model " + plaintext.Head(strings.Join(models, ", "), terminal.TextColumns)
	switch {
	case at.KeyVariable == "":
		return terminal.Plain.Line(fmt.Sprintf("  no key to %s (%s)", host, names))
	case at.Misdirected():
		return terminal.Warn.Line(fmt.Sprintf("  refuses $%s to %s, which is for the server of the environment (%s)", at.KeyVariable, host, names))
	case endpoint.Exposed(at.URL):
		return terminal.Warn.Line(fmt.Sprintf("  sends $%s to %s without encryption: it can be read on its way (%s)", at.KeyVariable, host, names))
	default:
		return terminal.Warn.Line(fmt.Sprintf("  sends $%s to %s (%s)", at.KeyVariable, host, names))
	}
}
