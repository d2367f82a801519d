package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// The keys under which segue stores its own data with a run.
const (
	BegunKey   = "segue" // in the metadata of a run: a begun as JSON
	AgentLabel = "agent" // a label of a run: its agent in the configuration
)

const begunVersion = 1

// Begun holds the settings with which a run began. The journal stores it, so that the run can be
// continued. It holds no key.
type Begun struct {
	Version  int      `json:"v"`
	Program  string   `json:"program,omitempty"` // the version of segue
	Config   string   `json:"config,omitempty"`  // the path of the configuration; "": none
	Origin   string   `json:"origin,omitempty"`  // how the user named the configuration
	SHA256   string   `json:"sha256,omitempty"`  // of the content of the configuration
	Agent    string   `json:"agent,omitempty"`
	Strategy string   `json:"strategy,omitempty"` // the value of --strategy; the fields below are values of flags, too
	Model    string   `json:"model,omitempty"`    // without a configuration: the model that was asked, flag or not
	API      string   `json:"api,omitempty"`
	BaseURL  string   `json:"base_url,omitempty"`
	Withheld bool     `json:"withheld,omitempty"` // BaseURL lacks a part that is not stored
	Server   string   `json:"server,omitempty"`   // of the environment, or several with commas between them
	Policy   string   `json:"policy,omitempty"`
	System   string   `json:"system,omitempty"`
	Dir      string   `json:"dir,omitempty"` // the whole path
	Approve  string   `json:"approve,omitempty"`
	Protect  []string `json:"protect,omitempty"`
	Source   string   `json:"source,omitempty"`
	NoAsk    bool     `json:"no_ask,omitempty"`
	Fed      bool     `json:"fed,omitempty"` // something from standard input was joined to the task
	MaxSteps int      `json:"max_steps,omitempty"`
	Idle     string   `json:"idle_timeout,omitempty"`

	Tools []string            `json:"tools,omitempty"` // the names of tools besides those for files, such as those of a case
	MCP   map[string][]string `json:"mcp,omitempty"`   // the names of the tools of each MCP server
	defs  []tools.Definition  // of all tools of the run; the journal has them elsewhere
}

// BegunWith returns the settings of a new run.
func BegunWith(c *cli.CLI, f *Flags, cfg *config.Config, place locate.Place) (Begun, error) {
	b := Begun{
		Version: begunVersion, Program: cli.ProgramVersion(), Agent: f.Agent, Model: f.Model, API: f.API.Value, Policy: f.Policy, System: f.System,
		Protect: f.Protect, Source: f.Source, NoAsk: f.NoAsk, Fed: f.fed, MaxSteps: f.MaxSteps, Idle: f.Idle, Server: serversNow(f.API.Value, cfg, c.Getenv),
	}
	for _, t := range f.Tools {
		b.Tools = append(b.Tools, t.Definition().Name)
	}
	var err error
	b.BaseURL, b.Withheld = WithoutSecrets(f.BaseURL)
	if f.Given("strategy") {
		b.Strategy = f.Strategy.Value
	}
	if f.Given("approve") {
		b.Approve = f.Approve.Value
	}
	if f.Dir != "" {
		if b.Dir, err = filepath.Abs(f.Dir); err != nil {
			return b, fmt.Errorf("cannot tell where the folder of --dir is: %w", err)
		}
	}
	if cfg == nil {
		b.Model = cmp.Or(f.Model, endpoint.EnvironmentModel(f.API.Value, c.Getenv))
		return b, nil
	}
	if b.Config, err = filepath.Abs(place.Path); err != nil {
		return b, fmt.Errorf("cannot tell where the configuration is: %w", err)
	}
	b.Origin, b.SHA256 = place.Origin.String(), digestOf(cfg)
	return b, nil
}

// serversNow names the servers of the environment that a run may ask, without secrets: that of the
// API of the flag, and those of the models of the configuration that name no server.
func serversNow(api string, cfg *config.Config, getenv func(string) string) string {
	var all []string
	add := func(api string) { all = append(all, endpoint.HostShown(endpoint.EnvironmentServer(api, getenv))) }
	if cfg != nil {
		for _, m := range cfg.Models {
			if m.BaseURL == "" {
				add(m.API)
			}
		}
	}
	if api != "" || len(all) == 0 {
		add(api)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// WithoutSecrets returns an address without the user, password and query in it, and whether there
// were any.
func WithoutSecrets(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", true
	}
	if u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return address, false
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String(), true
}

func digestOf(cfg *config.Config) string {
	sum := sha256.Sum256(cfg.Text())
	return hex.EncodeToString(sum[:])
}

// Metadata returns the metadata of the run.
func (b *Begun) Metadata() (map[string]string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return map[string]string{BegunKey: string(text)}, nil
}

// Labels returns the labels of the run.
func (b *Begun) Labels() map[string]string {
	if b.Agent == "" {
		return nil
	}
	return map[string]string{AgentLabel: b.Agent}
}

// ReadBegun reads the settings of a stored run.
func ReadBegun(run string, s *machine.Started) (Begun, error) {
	b := Begun{defs: s.Tools}
	text, ok := s.Metadata[BegunKey]
	if !ok {
		return b, fmt.Errorf("run %s was not begun by segue run: go on with the program that began it", plaintext.Visible(run))
	}
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return b, fmt.Errorf("what run %s was begun with cannot be read: %w", plaintext.Visible(run), err)
	}
	if b.Version != begunVersion {
		return b, fmt.Errorf("run %s was begun by segue %s, which keeps that in form %d, and this one reads form %d: go on with that one",
			plaintext.Visible(run), plaintext.Visible(b.Program), b.Version, begunVersion)
	}
	return b, nil
}

// again returns the flags of a stored run. Flags that are set in f replace them.
func (b *Begun) again(f *Flags) (*Flags, error) {
	if b.Withheld && !f.Reads && !f.Given("base-url") {
		return nil, errors.New("the address of the server held a user, a password or a query, which are not kept: say --base-url again")
	}
	said := map[string]bool{"strategy": b.Strategy != "", "approve": b.Approve != "" || f.Given("approve")}
	made := &Flags{
		Strategy: f.Strategy, Approve: f.Approve, Store: f.Store, Out: f.Out, Reads: f.Reads, Mute: f.Mute, Agent: b.Agent, Source: b.Source,
		System: b.System, NoAsk: b.NoAsk, fed: b.Fed, MaxSteps: b.MaxSteps,
		Model: cmp.Or(f.Model, b.Model), BaseURL: cmp.Or(f.BaseURL, b.BaseURL), Policy: cmp.Or(f.Policy, b.Policy), Idle: cmp.Or(f.Idle, b.Idle), Dir: cmp.Or(f.Dir, b.Dir),
		Protect: slices.Concat(b.Protect, f.Protect),
		Given:   func(flag string) bool { return said[flag] },
	}
	for _, name := range b.Tools {
		made.Tools = append(made.Tools, b.described(name, "the case is over, and "+name+" with it"))
	}
	made.API.Value = cmp.Or(f.API.Value, b.API)
	if b.Strategy != "" {
		made.Strategy.Value = b.Strategy
	}
	if b.Approve != "" && !f.Given("approve") {
		made.Approve.Value = b.Approve
	}
	return made, nil
}

// differences lists the settings that have changed since the run began.
func (b *Begun) differences(f *Flags, now *Begun) []string {
	var all []string
	differs := func(what, before, after string) {
		if before != after {
			all = append(all, fmt.Sprintf("%s: %s, and %s when the run began", what, cli.ShownOr(after, "none"), cli.ShownOr(before, "none")))
		}
	}
	differs("segue", b.Program, now.Program)
	differs("the configuration", b.Config, now.Config)
	if b.Config == now.Config && b.SHA256 != now.SHA256 {
		all = append(all, plaintext.Visible(now.Config)+" has changed since the run began")
	}
	if b.Config == "" {
		differs("the model", b.Model, now.Model)
	} else if f.Model != "" {
		differs("the model", b.Model, f.Model)
	}
	if now.BaseURL == "" {
		differs("the server", b.Server, now.Server)
	}
	differs("--api", b.API, now.API)
	differs("--base-url", b.BaseURL, now.BaseURL)
	differs("--policy", b.Policy, now.Policy)
	differs("--dir", b.Dir, now.Dir)
	differs("--approve", b.Approve, now.Approve)
	return all
}
