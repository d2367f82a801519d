package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// release is the version of a release; the linker sets it. "": the build information has it.
var release string

// versionRecord is a build in the form json.
type versionRecord struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the build has changes that the commit has not
	Time     string `json:"time,omitempty"`     // of the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// ProgramVersion names this build in the runs that it works on.
func ProgramVersion() string {
	info, _ := debug.ReadBuildInfo()
	return VersionOf(info)
}

// VersionOf returns the version and the commit of a build.
func VersionOf(info *debug.BuildInfo) string {
	if info == nil {
		return cmp.Or(release, "(devel)")
	}
	text := cmp.Or(release, info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(text, s.Value[:min(12, len(s.Value))]) {
			text += " " + s.Value
		}
	}
	return text
}

// NewVersionRecord describes a build. A nil info means that it was built without modules.
func NewVersionRecord(info *debug.BuildInfo) versionRecord {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	return versionRecord{
		Version: cmp.Or(release, info.Main.Version, "(devel)"), Commit: set["vcs.revision"], Modified: set["vcs.modified"] == "true", Time: set["vcs.time"],
		Go: cmp.Or(info.GoVersion, runtime.Version()), OS: cmp.Or(set["GOOS"], runtime.GOOS), Arch: cmp.Or(set["GOARCH"], runtime.GOARCH),
	}
}

// VersionText describes a build for people.
func VersionText(info *debug.BuildInfo) string {
	r := NewVersionRecord(info)
	text := "segue " + r.Version + "\n"
	if r.Commit != "" {
		text += "commit " + r.Commit
		if r.Modified {
			text += " (modified)"
		}
		text += plaintext.Colon(r.Time) + "\n"
	}
	return text + r.Go + " " + r.OS + "/" + r.Arch + "\n"
}
