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
	"github.com/segue-go/segue/cmd/segue/internal/autopolicy"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
)

// SettingRecord is a setting in the form json.
type SettingRecord struct {
	Setting string `json:"setting"`
	Value   string `json:"value"` // "" means none
	Origin  string `json:"origin"`
}

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
	cfg   *config.Config // without agents if there is none
	agent string         // "": none
	all   []SettingRecord
}

// settingsOf returns the settings that segue run would have.
func settingsOf(c *cli.CLI, f *run.Flags) (*settingsView, error) {
	v := &settingsView{c: c, f: f, cfg: &config.Config{}}
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return nil, err
	}
	place, err := c.ConfigPath(f.Config, f.Given("config"))
	if err != nil {
		return nil, err
	}
	origin := place.Origin.String()
	if place.Origin == locate.None {
		origin, err = v.said("config"), f.NeedConfiguration()
	} else if v.cfg, err = place.Read(); err == nil {
		err = f.Settings.FromProfile(v.cfg)
	}
	if err != nil {
		return nil, err
	}
	if place.Origin == locate.Found && !c.Trusts(v.cfg) {
		origin += ", not trusted"
	}
	v.add("config", place.Path, origin)
	v.row("profile", f.Settings.Profile)
	if err := v.addAgent(place); err != nil {
		return nil, err
	}
	v.addModel()
	v.addRest()
	return v, v.addStore()
}

func (v *settingsView) add(setting, value string, origins ...string) {
	v.all = append(v.all, SettingRecord{setting, value, cmp.Or(append(origins, "default")...)})
}

// row adds the setting of a flag, which the file says below the keys if nothing stronger says it.
func (v *settingsView) row(flag, value string, keys ...string) {
	v.add(flag, value, v.said(flag, keys...))
}

// fileRow adds a setting of the file, if the file says it.
func (v *settingsView) fileRow(setting, value string, keys ...string) {
	if origin := v.cfg.Where(keys...); origin != "" {
		v.add(setting, value, origin)
	}
}

// said returns where a setting is from: a flag, what stands for it, or the value of the file below
// the keys; "" if none says it.
func (v *settingsView) said(flag string, keys ...string) string {
	if v.f.Given(flag) {
		return v.f.Settings.SaidBy(flag)
	}
	return v.cfg.Where(keys...)
}

// addAgent chooses the agent, and adds how it goes about the task.
func (v *settingsView) addAgent(place locate.Place) error {
	f := v.f
	if place.Origin != locate.None {
		name, why, err := v.cfg.Choose(config.Request{Agent: f.Agent, Source: f.Source})
		switch {
		case err != nil && f.Agent != "":
			return err
		case err != nil:
			why = "the rules choose it by the task"
		case f.Agent != "":
			why = v.said("agent")
		case v.cfg.Default == name && why == "default":
			why = v.cfg.Where("default")
		}
		v.agent = name
		v.add("agent", name, why)
	}
	v.row("source", f.Source)
	a := v.cfg.Agents[v.agent]
	strategy := a.StrategyName()
	if f.Given("strategy") {
		strategy = strategies.RealName(f.Strategy.Value)
	}
	v.row("strategy", strategy, v.ofAgent("strategy")...)
	if strategies.RealName(strategy) == a.StrategyName() {
		v.fileRow("config of the strategy", string(a.Config), v.ofAgent("config")...)
	}
	v.row("system", cmp.Or(f.System, a.System), v.ofAgent("system")...)
	v.fileRow("tools", strings.Join(a.Tools, ", "), v.ofAgent("tools")...)
	v.fileRow("mcp", strings.Join(a.MCP, ", "), v.ofAgent("mcp")...)
	return nil
}

// ofAgent returns the keys that lead to a key of the agent.
func (v *settingsView) ofAgent(key ...string) []string {
	return append([]string{"agents", v.agent}, key...)
}

// addModel adds the model, its server, the variable of its key, and how it is asked.
func (v *settingsView) addModel() {
	f, getenv := v.f, v.c.Getenv
	name := v.cfg.ModelOf(v.cfg.Agents[v.agent])
	if _, ok := v.cfg.Models[f.Model]; ok {
		name = f.Model
	}
	m := v.cfg.Models[name]
	ofModel := func(keys ...string) []string { return append([]string{"models", name}, keys...) }
	said := func(keys ...string) string { return v.cfg.Where(ofModel(keys...)...) }
	server, keyVariable, policy, _ := v.cfg.Server(name, run.ClientOptions(v.c, f)) // an error is about the key
	model := server.Model
	if name != "" && (f.Model == "" || f.Model == name) {
		model += " (" + name + ")"
	}
	v.add("model", model, v.said("model", v.ofAgent("model")...), said("model"))
	v.row("api", server.API, ofModel("api")...)
	variable, moved := "", ""
	if getenv(endpoint.ServerVariableOf(server.API)) != "" {
		variable = endpoint.ServerVariableOf(server.API)
	}
	if m.BaseURL == "" && !endpoint.SameMaker(server.API, m.API) {
		moved = v.said("api")
	}
	address, _ := run.WithoutSecrets(server.BaseURL)
	v.add("base-url", address, v.said("base-url", ofModel("base_url")...), variable)
	key := "none is sent"
	if keyVariable != "" {
		key = "$" + keyVariable + map[bool]string{true: " (set)", false: " (not set)"}[getenv(keyVariable) != ""]
	}
	v.add("key", key, v.said("base-url"), moved, said("api_key_env"), said("base_url"))
	v.row("policy", policy, ofModel("policy")...)
	if policy == config.PolicyAuto {
		v.addChoice(server)
	}
	idle := ""
	if getenv(endpoint.IdleTimeoutVariable) != "" {
		idle = endpoint.IdleTimeoutVariable
	}
	v.add("idle-timeout", cmp.Or(f.Idle, getenv(endpoint.IdleTimeoutVariable), m.Limits.IdleTimeout, "2m"),
		v.said("idle-timeout"), idle, said("limits", "idle_timeout"))
	v.fileRow("requests_per_minute", strconv.Itoa(m.Limits.RequestsPerMinute), ofModel("limits", "requests_per_minute")...)
	if m.Limits.Retries != nil {
		v.fileRow("retries", strconv.Itoa(*m.Limits.Retries), ofModel("limits", "retries")...)
	}
	v.fileRow("timeout", m.Limits.Timeout, ofModel("limits", "timeout")...)
	v.fileRow("fallbacks", strings.Join(m.Fallbacks, ", "), ofModel("fallbacks")...)
}

// addChoice adds what was found out about the text format of a model at a server.
func (v *settingsView) addChoice(at endpoint.Client) {
	memory := autopolicy.MemoryOf(v.c.Getenv)
	switch chosen, ok, err := memory.Recall(at); {
	case err != nil:
		v.add("policy of auto", "", err.Error())
	case !ok:
		v.add("policy of auto", "", "not tried yet")
	default:
		v.add("policy of auto", chosen.Text(), chosen.Tried.Format("tried on 2006-01-02, ")+string(memory))
	}
}

// addRest adds what tools may do, and how much.
func (v *settingsView) addRest() {
	f, a := v.f, v.cfg.Agents[v.agent]
	v.row("dir", f.Dir)
	word := f.Approve.Value
	if !f.Given("approve") && v.cfg.Where(v.ofAgent("approval")...) != "" {
		word = cmp.Or(a.Approval.Default, approve.Ask)
		if _, looser := a.ApprovalSaid(); v.cfg.Found && len(looser) > 0 {
			word += " (you are asked all the same)"
		}
	}
	v.row("approve", word, v.ofAgent("approval")...)
	if !f.Given("approve") {
		for _, tool := range slices.Sorted(maps.Keys(a.Approval.Tools)) {
			v.fileRow("approve "+tool, a.Approval.Tools[tool], v.ofAgent("approval", "tools", tool)...)
		}
	}
	origins := slices.DeleteFunc([]string{v.said("protect"), v.cfg.Where("protected")}, func(s string) bool { return s == "" })
	v.add("protect", strings.Join(slices.Concat(f.Protect, v.cfg.Protected), ", "), strings.Join(origins, " and "))
	v.row("ask", strconv.FormatBool(f.Ask))
	v.row("no-ask", strconv.FormatBool(f.NoAsk))
	steps := "50 model calls for a task or a step of a plan"
	if f.MaxSteps != 0 {
		steps = strconv.Itoa(f.MaxSteps)
	} else if v.cfg.Where(v.ofAgent("limits")...) != "" {
		steps += ", and the limits of the agent"
	}
	v.row("max-steps", steps, v.ofAgent("limits")...)
}

// addStore adds where runs are kept, and what is written.
func (v *settingsView) addStore() error {
	f := v.f
	place, _, err := v.c.StorePlace(&f.Store, v.cfg)
	if err != nil {
		return err
	}
	origin := ""
	switch {
	case f.Given("store"):
		origin = "--store"
	case v.c.Getenv("SEGUE_STORE") != "":
		origin = "SEGUE_STORE"
	case v.cfg.StorePath() != "":
		origin = v.cfg.Where("store", "path")
	}
	v.add("store", cmp.Or(place.Path, config.StoreNone), origin)
	v.row("session", f.Session)
	v.row("stdin", f.Stdin.Value)
	v.row("output", f.Out.Kind())
	v.row("plain", strconv.FormatBool(f.Out.Plain))
	v.row("quiet", strconv.FormatBool(f.Out.Quiet))
	v.row("verbose", strconv.FormatBool(f.Out.Verbose))
	return nil
}
