package workfolder

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

// codeGlobs match files that run code or change what runs: the user is asked before a tool changes
// one. README.md has the same list.
const codeGlobs = `
.git .hg .svn .bzr .gitmodules .gitattributes .gitconfig .githooks .husky .pre-commit-config.y*ml .pre-commit-hooks.y*ml
lefthook*.y*ml .lefthook*.y*ml lefthook.toml .lefthook.toml

.envrc .direnv .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin
.zlogout .kshrc .cshrc .tcshrc .login .logout .inputrc .xprofile .xinitrc .xsession .tmux.conf config.fish fish/conf.d
fish/functions *profile.ps1 crontab *.service *.timer .config/autostart .config/systemd LaunchAgents LaunchDaemons
.config/git .config/environment.d .config/tmux .screenrc .gdbinit .lldbinit .pdbrc .irbrc .Rprofile

.vimrc .gvimrc .exrc .nvimrc .nvim.lua .ideavimrc .vim .config/nvim .emacs .emacs.d .dir-locals.el .dir-locals-2.el .vscode
.idea .fleet .zed .helix *.code-workspace *.sublime-project .editorconfig

.github .gitlab .gitlab-ci.y*ml .circleci .travis.yml azure-pipelines*.y*ml Jenkinsfile* .ci .buildkite .drone.y*ml
.woodpecker .woodpecker.y*ml .forgejo .gitea bitbucket-pipelines.y*ml appveyor.y*ml .appveyor.y*ml .cirrus.y*ml .semaphore
cloudbuild.y*ml .teamcity

Makefile GNUmakefile BSDmakefile *.mk CMakeLists.txt *.cmake justfile .justfile Taskfile.y*ml Rakefile Gemfile *.gemspec
package.json .npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs setup.py setup.cfg pyproject.toml tox.ini noxfile.py conftest.py
sitecustomize.py usercustomize.py *.pth build.rs Cargo.toml .cargo go.mod go.work *.gradle *.gradle.kts gradle.properties
gradlew* gradle-wrapper.* pom.xml .mvn mvnw* build.xml build.sbt build.zig meson.build BUILD.bazel MODULE.bazel .bazelrc *.bzl
composer.json mix.exs SConstruct WORKSPACE Earthfile gulpfile.* Gruntfile.*
flake.nix shell.nix default.nix Dockerfile* *.Dockerfile Containerfile* docker-compose*.y*ml compose.y*ml .devcontainer
.devcontainer.json Vagrantfile Procfile Tiltfile .tool-versions mise.toml .mise.toml .mise .asdfrc .node-version
.python-version .ruby-version rust-toolchain*

segue.y*ml .config/segue .local/state/segue .mcp.json mcp.json AGENTS.md CLAUDE.md CLAUDE.local.md GEMINI.md .claude
.cursor .cursorrules .codex .gemini .windsurf .windsurfrules .aider.conf.yml copilot-instructions.md

.ssh authorized_keys
`

// secretGlobs match files that hold secrets: the user is asked before a tool reads or changes one.
// README.md has the same list.
const secretGlobs = `
.env .env.* *.env .envrc .flaskenv secrets.y*ml secrets.json secrets.toml secret.y*ml .secret .secrets credentials
credentials.* *credentials.json .credentials client_secret*.json service-account*.json service_account*.json

*.pem *.key *.p8 *.p12 *.pfx *.jks *.keystore *.kdbx *.kdb *.ppk *.age *.ovpn id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk
id_ed25519_sk ssh_host_*_key .ssh .gnupg .password-store keyrings *.keychain *.keychain-db

.git/config proc/**/environ
.netrc _netrc .pgpass .my.cnf .mylogin.cnf .htpasswd .git-credentials .npmrc .yarnrc.yml .pypirc .cargo/credentials*
.composer/auth.json .codex/auth.json .m2/settings.xml settings-security.xml gradle.properties nuget.config wp-config.php

.aws .azure .oci .boto .s3cfg .config/gcloud application_default_credentials.json .config/gh .docker/config.json .dockercfg
.kube kubeconfig *.kubeconfig *.tfstate *.tfstate.* *.tfvars .terraformrc .terraform.d .vault-token .vault_pass* rclone.conf
.rclone.conf
`

// Protection says why a file is protected; "" if it is not.
type Protection string

// The reasons, as the user sees them.
const (
	runsCode     Protection = "it can run code, or change what runs"
	holdsSecrets Protection = "it can hold secrets"
	namedByUser  Protection = "--protect or the configuration names it"
)

// glob is a sequence of patterns of names: it matches a path that contains such names in a row.
// Each pattern is in the syntax of [path.Match], or ** for any number of names. Case is ignored.
type glob []string

// ParseGlob parses a glob whose patterns are separated by slashes.
func ParseGlob(text string) (glob, error) {
	g := glob{}
	for name := range strings.SplitSeq(text, "/") {
		if name == "" || name == "." {
			continue
		}
		if _, err := path.Match(name, ""); err != nil || name == ".." {
			return nil, fmt.Errorf("%.200q is not a glob of protected files", text)
		}
		g = append(g, foldCase(name))
	}
	if len(g) == 0 {
		return nil, errors.New("a glob of protected files is empty")
	}
	return g, nil
}

// matches reports whether the case-folded names contain a match of the glob. It backtracks only to
// the last **, because an earlier ** never needs to match more.
func (g glob) matches(names []string) bool {
	at, n := 0, 0       // positions in g and in names
	back, from := -1, 0 // position of the last **; -1 is the start of g, which matches anywhere
	for at < len(g) {
		switch {
		case g[at] == "**":
			back, from = at, n
			at++
		case n == len(names):
			return false
		case fits(g[at], names[n]):
			at++
			n++
		default:
			from++
			at, n = back+1, from
		}
	}
	return true
}

func fits(pattern, name string) bool {
	ok, _ := path.Match(pattern, name) // ParseGlob has checked the pattern
	return ok
}

// foldCase returns a name in a form without case, by the rules of Unicode.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return unicode.ToLower(least)
	}, name)
}

// bareName returns a name as some file systems read it: without blanks and dots at its end, without
// the name of a stream, and without invisible characters.
func bareName(name string) string {
	if base, _, found := strings.Cut(name, ":"); found && base != "" {
		name = base
	}
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)
	return strings.TrimRight(name, " .")
}

// ProtectedFiles holds the globs of protected files.
type ProtectedFiles struct{ code, secrets, own []glob }

// NewProtectedFiles returns the built-in globs and those of a user.
func NewProtectedFiles(own []string) (p ProtectedFiles, err error) {
	if p.code, err = parseGlobs(strings.Fields(codeGlobs)); err != nil {
		return p, err
	}
	if p.secrets, err = parseGlobs(strings.Fields(secretGlobs)); err != nil {
		return p, err
	}
	p.own, err = parseGlobs(own)
	return p, err
}

func parseGlobs(texts []string) ([]glob, error) {
	globs := make([]glob, len(texts))
	for i, text := range texts {
		var err error
		if globs[i], err = ParseGlob(text); err != nil {
			return nil, err
		}
	}
	return globs, nil
}

// reason returns why a path is protected from changes, or, if changed is false, from reads.
func (p ProtectedFiles) reason(names []string, changed bool) Protection {
	folded, shown := make([]string, len(names)), make([]string, len(names))
	for i, name := range names {
		if runtime.GOOS == "windows" && strings.Contains(name, "~") {
			return runsCode // it may be the short name of any file
		}
		folded[i], shown[i] = foldCase(name), foldCase(bareName(name))
	}
	fitsAny := func(globs []glob) bool {
		return slices.ContainsFunc(globs, func(g glob) bool { return g.matches(folded) || g.matches(shown) })
	}
	switch {
	case changed && fitsAny(p.code):
		return runsCode
	case fitsAny(p.secrets):
		return holdsSecrets
	case fitsAny(p.own):
		return namedByUser
	default:
		return ""
	}
}
