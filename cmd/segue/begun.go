package main

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
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// The keys under which segue stores its own data with a run.
const (
	begunKey   = "segue" // in the metadata of a run: a begun as JSON
	agentLabel = "agent" // a label of a run: its agent in the configuration
)

const begunVersion = 1

// begun holds the settings with which a run began. The journal stores it, so that the run can be
// continued. It holds no key.
type begun struct {
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

	MCP  map[string][]string `json:"mcp,omitempty"` // the names of the tools of each MCP server
	defs []tools.Definition  // of all tools of the run; the journal has them elsewhere
}

// begunWith returns the settings of a new run.
func (c *cli) begunWith(f *runFlags, cfg *config.Config, place config.Place) (begun, error) {
	b := begun{
		Version: begunVersion, Program: programVersion(), Agent: f.agent, Model: f.model, API: f.api.value, Policy: f.policy, System: f.system,
		Protect: f.protect, Source: f.source, NoAsk: f.noAsk, Fed: f.fed, MaxSteps: f.maxSteps, Idle: f.idle, Server: serversNow(f.api.value, cfg, c.getenv),
	}
	var err error
	b.BaseURL, b.Withheld = withoutSecrets(f.baseURL)
	if f.given("strategy") {
		b.Strategy = f.strategy.value
	}
	if f.given("approve") {
		b.Approve = f.approve.value
	}
	if f.dir != "" {
		if b.Dir, err = filepath.Abs(f.dir); err != nil {
			return b, fmt.Errorf("cannot tell where the folder of --dir is: %w", err)
		}
	}
	if cfg == nil {
		b.Model = cmp.Or(f.model, c.getenv("SEGUE_MODEL"), config.DefaultModelOf(f.api.value))
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

// withoutSecrets returns an address without the user, password and query in it, and whether there
// were any.
func withoutSecrets(address string) (string, bool) {
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

// metadata returns the metadata of the run.
func (b *begun) metadata() (map[string]string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return map[string]string{begunKey: string(text)}, nil
}

// labels returns the labels of the run.
func (b *begun) labels() map[string]string {
	if b.Agent == "" {
		return nil
	}
	return map[string]string{agentLabel: b.Agent}
}

// readBegun reads the settings of a stored run.
func readBegun(run string, s *machine.Started) (begun, error) {
	b := begun{defs: s.Tools}
	text, ok := s.Metadata[begunKey]
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
func (b *begun) again(f *runFlags) (*runFlags, error) {
	if b.Withheld && !f.reads && !f.given("base-url") {
		return nil, errors.New("the address of the server held a user, a password or a query, which are not kept: say --base-url again")
	}
	said := map[string]bool{"strategy": b.Strategy != "", "approve": b.Approve != "" || f.given("approve")}
	made := &runFlags{
		strategy: f.strategy, approve: f.approve, store: f.store, out: f.out, reads: f.reads, mute: f.mute, agent: b.Agent, source: b.Source,
		system: b.System, noAsk: b.NoAsk, fed: b.Fed, maxSteps: b.MaxSteps,
		model: cmp.Or(f.model, b.Model), baseURL: cmp.Or(f.baseURL, b.BaseURL), policy: cmp.Or(f.policy, b.Policy), idle: cmp.Or(f.idle, b.Idle), dir: cmp.Or(f.dir, b.Dir),
		protect: slices.Concat(b.Protect, f.protect),
		given:   func(flag string) bool { return said[flag] },
	}
	made.api.value = cmp.Or(f.api.value, b.API)
	if b.Strategy != "" {
		made.strategy.value = b.Strategy
	}
	if b.Approve != "" && !f.given("approve") {
		made.approve.value = b.Approve
	}
	return made, nil
}

// differences lists the settings that have changed since the run began.
func (b *begun) differences(f *runFlags, now *begun) []string {
	var all []string
	differs := func(what, before, after string) {
		if before != after {
			all = append(all, fmt.Sprintf("%s: %s, and %s when the run began", what, shownOr(after, "none"), shownOr(before, "none")))
		}
	}
	differs("segue", b.Program, now.Program)
	differs("the configuration", b.Config, now.Config)
	if b.Config == now.Config && b.SHA256 != now.SHA256 {
		all = append(all, plaintext.Visible(now.Config)+" has changed since the run began")
	}
	if b.Config == "" {
		differs("the model", b.Model, now.Model)
	} else if f.model != "" {
		differs("the model", b.Model, f.model)
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

func shownOr(text, otherwise string) string { return plaintext.Visible(cmp.Or(text, otherwise)) }
