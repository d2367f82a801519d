package cli

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionText(t *testing.T) {
	released := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Version: "v0.1.0"},
		Settings:  []debug.BuildSetting{{Key: "GOOS", Value: "plan9"}, {Key: "GOARCH", Value: "mips"}},
	}
	require.Equal(t, "segue v0.1.0\ngo1.26.8 plan9/mips\n", VersionText(released))

	worked := *released
	worked.Main.Version = "(devel)"
	worked.Settings = append(released.Settings,
		debug.BuildSetting{Key: "vcs.revision", Value: "abc"},
		debug.BuildSetting{Key: "vcs.time", Value: "2026-11-20T10:00:00Z"},
		debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	require.Equal(t, "segue (devel)\ncommit abc (modified): 2026-11-20T10:00:00Z\ngo1.26.8 plan9/mips\n", VersionText(&worked))

	require.True(t, strings.HasPrefix(VersionText(nil), "segue (devel)\ngo1."))
}
