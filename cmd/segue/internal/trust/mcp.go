package trust

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// maxCommand is the longest command line that is shown, in characters.
const maxCommand = 600

// mcpServers shows the commands and addresses of the MCP servers, whole, with the variables that
// each gets.
func (r Review) mcpServers(columns int) ([]terminal.Line, error) {
	names := slices.Sorted(maps.Keys(r.Config.MCP))
	tooMuch := fmt.Errorf("%s has more MCP servers, or longer commands, than can be shown; read it, and name it with --config", plaintext.Visible(r.Config.Path))
	if len(names) > maxServers {
		return nil, tooMuch
	}
	var lines []terminal.Line
	for _, name := range names {
		s := r.Config.MCP[name]
		dir, keys, withheld := r.Config.MCPAccess(name, r.getenv)
		for i, key := range keys {
			keys[i] = "$" + key
		}
		sent := cmp.Or(strings.Join(keys, ", "), "no key")
		text := ""
		switch {
		case withheld != "":
			text = fmt.Sprintf("refuses $%s, which is for the server of the environment (%s)", withheld, name)
		case s.URL != "" && len(keys) > 0 && endpoint.Exposed(s.URL):
			text = fmt.Sprintf("sends %s to %s without encryption: it can be read on its way (%s)", sent, endpoint.HostShown(s.URL), name)
		case s.URL != "":
			text = fmt.Sprintf("sends %s to %s (%s)", sent, endpoint.HostShown(s.URL), name)
		default:
			words := make([]string, len(s.Command))
			for i, word := range s.Command {
				words[i] = plaintext.Visible(word)
				if word == "" || strings.ContainsAny(word, " '\"") {
					words[i] = fmt.Sprintf("%q", word)
				}
			}
			text = fmt.Sprintf("starts %s", strings.Join(words, " "))
			if dir != "" {
				text += " in " + dir
			}
			for _, entry := range s.Env {
				if strings.Contains(entry, "=") {
					text += ", with " + entry
				}
			}
			text += fmt.Sprintf(", which gets %s (%s)", sent, name)
		}
		text = plaintext.Visible(text)
		if len([]rune(text)) > maxCommand {
			return nil, tooMuch
		}
		for i := 0; text != ""; i++ { // nothing is cut: what is trusted is shown
			head, rest := plaintext.Split(text, max(columns-4, 20))
			if head == "" {
				head, rest = text, ""
			}
			lines = append(lines, terminal.Warn.Line(map[bool]string{true: "  ", false: "    "}[i == 0]+head))
			text = rest
		}
	}
	return lines, nil
}
