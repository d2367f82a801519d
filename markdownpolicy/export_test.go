package markdownpolicy

import "github.com/segue-go/segue/messages"

// Example is an example in the instructions of a policy.
type Example struct {
	Text  string
	Parts []messages.AssistantContent
}

// ShownBy returns the examples of a built-in policy.
func ShownBy(p Policy) (examples []Example) {
	for _, e := range p.(exemplar).examples() {
		examples = append(examples, Example{e.text, e.parts})
	}
	return examples
}

// CodeBlocks returns the info strings and contents of the fenced code blocks of a text that arrives
// in pieces of n bytes.
func CodeBlocks(text string, n int) (infos, contents []string) {
	find := func(from int) int {
		for at := from; at < len(text); at++ {
			if (text[at] == '`' || text[at] == '~') && skipRun(text, at, text[at])-at >= 3 && lineStart(text, at) >= 0 {
				return at
			}
		}
		return -1
	}
	for at := find(0); at >= 0; {
		f := fence{start: at}
		to := min(len(text), at+n)
		for !f.open(text[:to], to == len(text)) {
			to = min(len(text), to+n)
		}
		if f.state == fenceNone {
			at = find(at + f.length)
			continue
		}
		for to < len(text) && !f.find(text[:max(to, f.body)], false) {
			to = min(len(text), to+n)
		}
		closed := f.find(text, true)
		infos, contents = append(infos, f.info), append(contents, f.content(text))
		if !closed {
			break
		}
		at = find(f.end)
	}
	return infos, contents
}
