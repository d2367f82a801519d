package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say what was built, and of what",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			return write(c.stdout, versionText(info))
		},
	}
}

// programVersion names this build in the runs that it works on.
func programVersion() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

// versionOf returns the version and the commit of a build.
func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return "(devel)"
	}
	text := cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(text, s.Value[:min(12, len(s.Value))]) {
			text += " " + s.Value
		}
	}
	return text
}

// versionText describes a build. A nil info means that it was built without modules.
func versionText(info *debug.BuildInfo) string {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	text := "segue " + cmp.Or(info.Main.Version, "(devel)") + "\n"
	if commit := set["vcs.revision"]; commit != "" {
		text += "commit " + commit
		if set["vcs.modified"] == "true" {
			text += " (modified)"
		}
		text += plaintext.Colon(set["vcs.time"]) + "\n"
	}
	return text + cmp.Or(info.GoVersion, runtime.Version()) + " " + cmp.Or(set["GOOS"], runtime.GOOS) + "/" + cmp.Or(set["GOARCH"], runtime.GOARCH) + "\n"
}
