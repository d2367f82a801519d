package markdownpolicy

import "strings"

// swallowing returns the first argument whose text holds the tag of a parameter without its end,
// and the name of that. A tag of a parameter that stands elsewhere in the call is text: it cannot
// be another one.
func swallowing(arguments []argument) (in argument, name string) {
	given := make(map[string]bool, len(arguments))
	for _, a := range arguments {
		given[a.name] = true
	}
	for _, a := range arguments {
		for _, name := range unclosedParameters(a.text) {
			if name == a.name || !given[name] {
				return a, name
			}
		}
	}
	return argument{}, ""
}

// unclosedParameters returns the names of the parameters that begin in a text and do not end there.
func unclosedParameters(text string) (open []string) {
	const end = "</parameter>"
	for pos := 0; ; {
		i := strings.IndexByte(text[pos:], '<')
		if i < 0 {
			return open
		}
		pos += i
		if name, after, ok := looseParameter(text, pos); ok {
			open, pos = append(open, name), after
			continue
		}
		if strings.HasPrefix(text[pos:], end) && len(open) > 0 {
			open = open[:len(open)-1]
		}
		pos++
	}
}

// looseParameter reads a tag that seems to begin a parameter, and returns the name and the place
// behind the tag: <parameter=name>, in whatever case, and <parameter name="name">.
func looseParameter(text string, pos int) (name string, end int, ok bool) {
	const mark, most = "<parameter", 256 // bytes of a tag
	window := text[pos:min(len(text), pos+most)]
	if len(window) < len(mark) || !strings.EqualFold(window[:len(mark)], mark) {
		return "", pos, false
	}
	tag, _, closed := strings.Cut(window[len(mark):], ">")
	what, name, ok := strings.Cut(tag, "=")
	what = strings.TrimSpace(what)
	if !closed || !ok || what != "" && !strings.EqualFold(what, "name") || strings.ContainsAny(tag, "<\n") {
		return "", pos, false
	}
	return strings.Trim(name, ` "'`), pos + len(mark) + len(tag) + 1, true
}
