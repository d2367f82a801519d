package search

import (
	"cmp"
	"encoding/json"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/tools"
)

// What is read of a tool, in bytes, and how much of a query.
const (
	readName        = 256
	readDescription = 1 << 10
	readParameters  = 64 << 10
	readNames       = 100 // names of parameters
	readQuery       = 1 << 10
	readWords       = 32 // of a query
)

// How much a word counts, by where it is.
const (
	inName        = 8
	inParameters  = 2
	inDescription = 2
)

// index has the words of tools. It counts in whole numbers, because results of floating-point
// arithmetic differ between processors, and a run may go on elsewhere.
type index struct {
	names   []string             // of the tools
	uses    map[string][]posting // by word, in the order of the tools
	words   []string             // sorted
	lengths []int                // of the tools, in words
	average int                  // of the lengths; at least 1
}

// posting says how much a word counts in a tool.
type posting struct{ tool, weight int }

// newIndex reads the words of tools.
func newIndex(defs []tools.Definition) *index {
	x := &index{uses: map[string][]posting{}, lengths: make([]int, len(defs)), names: make([]string, len(defs))}
	total := 0
	for i := range defs {
		d := &defs[i]
		x.names[i] = d.Name
		for word := range wordsOf(cut(d.Name, readName)) {
			x.add(i, word, inName)
		}
		for word := range wordsOf(cut(d.Description, readDescription)) {
			x.add(i, word, inDescription)
		}
		for _, name := range parameters(d.Parameters) {
			for word := range wordsOf(cut(name, readName)) {
				x.add(i, word, inParameters)
			}
		}
		total += x.lengths[i]
	}
	x.average = max(1, total/max(1, len(defs)))
	x.words = make([]string, 0, len(x.uses))
	for word := range x.uses {
		x.words = append(x.words, word)
	}
	slices.Sort(x.words)
	return x
}

// add counts a word of a tool.
func (x *index) add(tool int, word string, weight int) {
	x.lengths[tool]++
	list := x.uses[word]
	if n := len(list); n > 0 && list[n-1].tool == tool {
		list[n-1].weight += weight
		return
	}
	x.uses[word] = append(list, posting{tool, weight})
}

// cut returns the beginning of a text.
func cut(text string, most int) string { return text[:min(most, len(text))] }

// parameters returns the names of the parameters of a tool, sorted.
func parameters(schema json.RawMessage) []string {
	var top struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(schema) > readParameters || json.Unmarshal(schema, &top) != nil {
		return nil
	}
	names := make([]string, 0, len(top.Properties))
	for name := range top.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:min(len(names), readNames)]
}

// find returns the places of the tools that fit the query, best first; of equally good ones the one
// that is defined first.
func (x *index) find(query string, most int) []int {
	scores := map[int]int{}
	for _, word := range asked(query) {
		for tool, score := range x.fit(word) {
			scores[tool] += score
		}
	}
	best := 0
	for _, score := range scores {
		best = max(best, score)
	}
	exact := strings.TrimSpace(query)
	if at := x.named(exact); at >= 0 {
		scores[at] = best + 1
	}
	found := make([]int, 0, len(scores))
	for tool, score := range scores {
		if 4*score >= best { // others have only a common word
			found = append(found, tool)
		}
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return found[:min(len(found), most)]
}

// named returns the place of the tool with that name, in whatever case, or -1.
func (x *index) named(name string) int {
	if at := slices.Index(x.names, name); at >= 0 {
		return at
	}
	return slices.IndexFunc(x.names, func(n string) bool { return strings.EqualFold(n, name) })
}

// asked returns the words of a query, each once. Words that say nothing are left out if there are
// others.
func asked(query string) []string {
	var all, telling []string
	for word := range wordsOf(cut(query, readQuery)) {
		if slices.Contains(all, word) || len(all) == readWords {
			continue
		}
		all = append(all, word)
		if !slices.Contains(idle, word) {
			telling = append(telling, word)
		}
	}
	if telling == nil {
		return all
	}
	return telling
}

// idle are words of English questions that say nothing about a tool.
var idle = strings.Fields("a an the to of for in on at by and or with from is are be my me i it its that this some any can how what which need want use find tool tools")

// fit returns how well a word fits each tool: the word itself, or one of which one is the beginning
// of the other.
func (x *index) fit(word string) map[int]int {
	scores := map[int]int{}
	x.rate(scores, word, 100)
	length := utf8.RuneCountInString(word)
	least := shortest(word)
	for end, n := 0, 0; end < len(word); n++ {
		_, size := utf8.DecodeRuneInString(word[end:])
		if n >= least {
			x.rate(scores, word[:end], 80*n/length)
		}
		end += size
	}
	if length >= least {
		from := sort.SearchStrings(x.words, word)
		const alike = 64
		for _, longer := range x.words[from:min(from+alike, len(x.words))] {
			if !strings.HasPrefix(longer, word) {
				break
			}
			if longer != word {
				x.rate(scores, longer, 80*length/utf8.RuneCountInString(longer))
			}
		}
	}
	return scores
}

// rate raises the scores of the tools that have a word to what the word is worth there, of which
// percent count.
func (x *index) rate(scores map[int]int, word string, percent int) {
	list := x.uses[word]
	rarity := log2(1 + len(x.names)/max(1, len(list)))
	for _, p := range list {
		long := 6 + 6*x.lengths[p.tool]/x.average // a word counts less in a long description
		score := percent * rarity * (1000 * p.weight / (p.weight + long)) / 100
		scores[p.tool] = max(scores[p.tool], score)
	}
}

// log2 returns about 16 times the binary logarithm of n, which is positive.
func log2(n int) int {
	whole := bits.Len(uint(n)) - 1
	return 16*whole + (16*n>>whole - 16)
}
