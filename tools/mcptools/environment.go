package mcptools

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// InheritedEnv returns the names of the environment variables that a command gets from this process
// without being told to: what programs need to start, and no keys.
func InheritedEnv() []string {
	if runtime.GOOS == "windows" {
		return []string{
			"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE",
			"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
		}
	}
	return []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}
}

// environment returns the environment of a command, and the values in it that were given on
// purpose and may be secrets.
func environment(given []string) (env, secrets []string) {
	for _, name := range InheritedEnv() {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, entry := range given {
		name, value, assigned := strings.Cut(entry, "=")
		if !assigned {
			var ok bool
			if value, ok = os.LookupEnv(name); !ok {
				continue
			}
		}
		env = append(env, name+"="+value)
		if !slices.Contains(InheritedEnv(), name) {
			secrets = append(secrets, value)
		}
	}
	return env, secrets
}
