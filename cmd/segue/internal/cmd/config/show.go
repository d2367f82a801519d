package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
)

// SettingRecord is a setting in the form json.
type SettingRecord struct {
	Setting string `json:"setting"`
	Value   string `json:"value"` // "" means none
	Origin  string `json:"origin"`
}

// byDefault is the origin of a setting that nobody says.
const byDefault = "default"

func configShowCommand(c *cli.CLI) *cobra.Command {
	f := run.NewFlags()
	origin := false
	cmd := &cobra.Command{
		Use:   "show [flags]",
		Short: "Show the settings of a run, and where they are from",
		Long: `Show writes the settings that segue run would have with the same flags, a line for each. With --origin each line says
where the setting is from: a flag, a variable, a profile, a line of the configuration, or the default. The first that says
something counts:
` + run.VariablesHelp() + `
  the profile of --profile
  the configuration
  the default
No key is shown, only the name of its variable, and whether that is set. Nothing is asked, and no trust is needed. The agent is
that of a task whose words no rule looks for.`,
		Example: `  segue config show --origin
  segue config show -P draft --output json`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error { return showSettings(c, f, origin) },
	}
	f.Offer(c, cmd)
	f.Settings.Offer(cmd, c, &f.Config)
	f.OfferTurn(c, cmd)
	cmd.Flags().BoolVar(&origin, "origin", false, "say where each setting is from")
	return cmd
}

// showSettings executes segue config show.
func showSettings(c *cli.CLI, f *run.Flags, origin bool) error {
	v, err := settingsOf(c, f)
	if err != nil {
		return err
	}
	var rows []string
	for _, r := range v.all {
		if f.Out.Kind() == cli.FormJSONL {
			if err := cli.Encode(c.Stdout, r); err != nil {
				return err
			}
			continue
		}
		line := r.Setting + "\t" + cmp.Or(plaintext.OneLine(r.Value), "-")
		if origin {
			line += "\t" + plaintext.OneLine(r.Origin)
		}
		rows = append(rows, line)
	}
	if f.Out.Kind() == cli.FormJSONL {
		return nil
	}
	return c.Print(f.Out.Kind(), v.all, cli.Table(rows))
}

// settingsView collects the settings of a run.
type settingsView struct {
	c     *cli.CLI
	f     *run.Flags
	cfg   *config.Config // nil: none
	agent string         // "": none
	all   []SettingRecord
}

// settingsOf returns the settings that segue run would have.
func settingsOf(c *cli.CLI, f *run.Flags) (*settingsView, error) {
	v := &settingsView{c: c, f: f}
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return nil, err
	}
	place, err := c.ConfigPath(f.Config, f.Given("config"))
	if err != nil {
		return nil, err
	}
	if place.Origin != config.OriginNone {
		if v.cfg, err = place.Read(); err != nil {
			return nil, err
		}
		if err := f.Settings.FromProfile(v.cfg); err != nil {
			return nil, err
		}
	} else if err := f.NeedConfiguration(); err != nil {
		return nil, err
	}
	v.config(place)
	v.add("profile", f.Settings.Profile, v.said("profile", ""))
	if err := v.addAgent(); err != nil {
		return nil, err
	}
	v.addStrategy()
	v.addModel()
	v.addRest()
	return v, v.addStore()
}

func (v *settingsView) add(setting, value, origin string) {
	v.all = append(v.all, SettingRecord{setting, value, cmp.Or(origin, byDefault)})
}

// said returns where a setting is from: a flag, what stands for it, or the value of the file at the
// pointer; "" if none says it.
func (v *settingsView) said(flag, pointer string) string {
	if v.f.Given(flag) {
		return v.f.Settings.SaidBy(flag)
	}
	return v.where(pointer)
}

func (v *settingsView) where(pointer string) string {
	if v.cfg == nil || pointer == "" {
		return ""
	}
	return v.cfg.Where(pointer)
}

// config adds the configuration.
func (v *settingsView) config(place config.Place) {
	origin := place.Origin.String()
	switch {
	case place.Origin == config.OriginNone:
		origin = v.said("config", "")
	case place.Origin == config.OriginFound && !v.c.Trusts(v.cfg):
		origin += ", not trusted"
	}
	v.add("config", place.Path, origin)
}

// addAgent adds the agent, and chooses it.
func (v *settingsView) addAgent() error {
	if v.cfg != nil {
		name, why, err := v.cfg.Choose(config.Request{Agent: v.f.Agent, Source: v.f.Source})
		switch {
		case err != nil && v.f.Agent != "":
			return err
		case err != nil:
			why = "the rules choose it by the task"
		case v.f.Agent != "":
			why = v.said("agent", "")
		case v.cfg.Default == name && why == "default":
			why = v.where("/default")
		}
		v.agent = name
		v.add("agent", name, why)
	}
	v.add("source", v.f.Source, v.said("source", ""))
	return nil
}

// ofAgent returns the agent, and the JSON pointer of a key of it; "" if there is none.
func (v *settingsView) ofAgent(key string) (config.Agent, string) {
	if v.agent == "" {
		return config.Agent{}, ""
	}
	return v.cfg.Agents[v.agent], config.Pointer("agents", v.agent, key)
}

// addStrategy adds how the task is gone about.
func (v *settingsView) addStrategy() {
	f := v.f
	a, at := v.ofAgent("strategy")
	strategy := a.StrategyName()
	if f.Given("strategy") {
		strategy = strategies.RealName(f.Strategy.Value)
	}
	v.add("strategy", strategy, v.said("strategy", at))
	if a.Config != nil && strategies.RealName(strategy) == a.StrategyName() {
		_, at = v.ofAgent("config")
		v.add("config of the strategy", string(a.Config), v.where(at))
	}
	_, at = v.ofAgent("system")
	v.add("system", cmp.Or(f.System, a.System), v.said("system", at))
	_, at = v.ofAgent("tools")
	if a.Tools != nil {
		v.add("tools", strings.Join(a.Tools, ", "), v.where(at))
	}
	if _, at = v.ofAgent("mcp"); a.MCP != nil {
		v.add("mcp", strings.Join(a.MCP, ", "), v.where(at))
	}
}

// addModel adds the model, its server and the variable of its key.
func (v *settingsView) addModel() {
	f, getenv := v.f, v.c.Getenv
	a, at := v.ofAgent("model")
	name, m := "", config.Model{}
	if v.cfg != nil {
		if name = v.cfg.ModelOf(a); v.cfg.Models[f.Model].Model != "" {
			name = f.Model
		}
		m = v.cfg.Models[name]
	}
	ofModel := func(keys ...string) string {
		if name == "" {
			return ""
		}
		return v.where(config.Pointer(append([]string{"models", name}, keys...)...))
	}
	switch {
	case f.Model != "" && f.Model != name:
		v.add("model", f.Model, v.said("model", ""))
	case name != "":
		v.add("model", m.Model+" ("+name+")", cmp.Or(v.said("model", at), ofModel("model")))
	default:
		v.add("model", endpoint.EnvironmentModel(f.API.Value, getenv), "")
	}
	api := cmp.Or(f.API.Value, m.API)
	server, said := endpoint.Configured(api, m.BaseURL, m.APIKeyEnv, getenv), cmp.Or(ofModel("api_key_env"), ofModel("base_url"))
	if f.BaseURL != "" {
		server, said = endpoint.Typed(api, f.BaseURL, getenv), v.said("base-url", "")
	} else if m.BaseURL == "" && !endpoint.SameMaker(api, m.API) {
		server, said = endpoint.Typed(api, "", getenv), v.said("api", "")
	}
	v.add("api", server.API, cmp.Or(v.said("api", ""), ofModel("api")))
	address, _ := run.WithoutSecrets(server.URL)
	origin := v.said("base-url", "")
	if origin = cmp.Or(origin, ofModel("base_url")); origin == "" && getenv(endpoint.ServerVariableOf(api)) != "" {
		origin = endpoint.ServerVariableOf(api)
	}
	v.add("base-url", address, origin)
	v.add("key", keyShown(server.KeyVariable, getenv), said)
	v.add("policy", cmp.Or(f.Policy, m.Policy), cmp.Or(v.said("policy", ""), ofModel("policy")))
	v.addIdleTimeout(m, ofModel)
	v.addLimits(m, ofModel)
}

// addIdleTimeout adds the longest silence of the server.
func (v *settingsView) addIdleTimeout(m config.Model, ofModel func(keys ...string) string) {
	fromVariable := ""
	if v.c.Getenv(endpoint.IdleTimeoutVariable) != "" {
		fromVariable = endpoint.IdleTimeoutVariable
	}
	v.add("idle-timeout", cmp.Or(v.f.Idle, v.c.Getenv(endpoint.IdleTimeoutVariable), m.Limits.IdleTimeout, "2m"),
		cmp.Or(v.said("idle-timeout", ""), fromVariable, ofModel("limits", "idle_timeout")))
}

// addLimits adds how often and how fast a model of the file is asked, as far as it says so.
func (v *settingsView) addLimits(m config.Model, ofModel func(keys ...string) string) {
	retries := ""
	if m.Limits.Retries != nil {
		retries = strconv.Itoa(*m.Limits.Retries)
	}
	for _, limit := range []struct{ key, value string }{
		{"requests_per_minute", strconv.Itoa(m.Limits.RequestsPerMinute)}, {"retries", retries}, {"timeout", m.Limits.Timeout},
	} {
		if origin := ofModel("limits", limit.key); origin != "" {
			v.add(limit.key, limit.value, origin)
		}
	}
	if len(m.Fallbacks) > 0 {
		v.add("fallbacks", strings.Join(m.Fallbacks, ", "), ofModel("fallbacks"))
	}
}

// keyShown names the variable of a key, and says whether it is set. It does not show the key.
func keyShown(variable string, getenv func(string) string) string {
	switch {
	case variable == "":
		return "none is sent"
	case getenv(variable) == "":
		return "$" + variable + " (not set)"
	default:
		return "$" + variable + " (set)"
	}
}

// addRest adds what tools may do, and how much.
func (v *settingsView) addRest() {
	f := v.f
	v.add("dir", f.Dir, v.said("dir", ""))
	a, at := v.ofAgent("approval")
	word := f.Approve.Value
	if !f.Given("approve") && v.where(at) != "" {
		if word = cmp.Or(a.Approval.Default, approve.Ask); v.cfg.Found && len(a.Loosened()) > 0 {
			word += " (you are asked all the same)"
		}
	}
	v.add("approve", word, v.said("approve", at))
	if !f.Given("approve") {
		for _, tool := range slices.Sorted(maps.Keys(a.Approval.Tools)) {
			v.add("approve "+tool, a.Approval.Tools[tool], v.where(at+config.Pointer("tools", tool)))
		}
	}
	protected, origin := slices.Clone(f.Protect), v.said("protect", "")
	if v.cfg != nil && len(v.cfg.Protected) > 0 {
		protected = append(protected, v.cfg.Protected...)
		origin = strings.Join(slices.DeleteFunc([]string{origin, v.where("/protected")}, func(s string) bool { return s == "" }), " and ")
	}
	v.add("protect", strings.Join(protected, ", "), origin)
	v.add("ask", strconv.FormatBool(f.Ask), v.said("ask", ""))
	v.add("no-ask", strconv.FormatBool(f.NoAsk), v.said("no-ask", ""))
	steps := "50 model calls for a task or a step of a plan"
	_, at = v.ofAgent("limits")
	if f.MaxSteps != 0 {
		steps = strconv.Itoa(f.MaxSteps)
	} else if v.where(at) != "" {
		steps += ", and the limits of the agent"
	}
	v.add("max-steps", steps, v.said("max-steps", at))
}

// addStore adds where runs are kept.
func (v *settingsView) addStore() error {
	place, _, err := v.c.StorePlace(&v.f.Store, v.cfg)
	if err != nil {
		return err
	}
	origin := ""
	switch {
	case v.f.Given("store"):
		origin = "--store"
	case v.c.Getenv("SEGUE_STORE") != "":
		origin = "SEGUE_STORE"
	case v.cfg != nil && v.cfg.StorePath() != "":
		origin = v.where("/store/path")
	}
	v.add("store", cmp.Or(place.Path, config.StoreNone), origin)
	out := v.f.Out
	for _, s := range []struct{ flag, value string }{
		{"session", v.f.Session},
		{"stdin", v.f.Stdin.Value},
		{"output", out.Kind()},
		{"plain", strconv.FormatBool(out.Plain)},
		{"quiet", strconv.FormatBool(out.Quiet)},
		{"verbose", strconv.FormatBool(out.Verbose)},
	} {
		v.add(s.flag, s.value, v.said(s.flag, ""))
	}
	return nil
}
