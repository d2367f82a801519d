package strategytest

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
)

// Explore explores the strategy that the factory makes with everything that the world can answer,
// see [explore.Run]. It fails the test with each violation of a law, and with each of the Queries
// that does not hold, and prints a path to it as a script of [Stories], which is to be saved among
// the stories of the strategy. It also fails with a Leads whose first predicate never held, and
// with an exploration that says too little, see [explore.Report.Gap]. It logs what was explored.
func Explore(t testing.TB, factory func() strategy.Strategy, o explore.Options) *explore.Report {
	t.Helper()
	r, err := explore.Run(factory, o)
	if err != nil {
		t.Fatal(err)
		return nil
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		t.Errorf("%s\n%s", v.Error(), toSave(&o, v.Law, v.Story))
	}
	for i := range r.Results {
		switch a := &r.Results[i]; {
		case !a.Holds:
			t.Errorf("%s\n%s", a.String(), toSave(&o, a.Query.String(), a.Story))
		case a.Vacuous():
			t.Errorf("%s: nothing was asked for", a.String())
		default:
			t.Log(a)
		}
	}
	if gap := r.Gap(); gap != "" {
		t.Errorf("%s\n%s", gap, r)
	}
	t.Log(r)
	return r
}

// CanReach explores a strategy until p holds in a state, and returns the path to it as a script of
// [Stories]. It fails the test if no path within the bounds leads to such a state, or if a law was
// broken before.
func CanReach(t testing.TB, factory func() strategy.Strategy, o explore.Options, p explore.Predicate) (story string) {
	t.Helper()
	a := ask(t, factory, o, explore.CanReach(p))
	if a == nil {
		return ""
	}
	if a.Holds {
		t.Log(toSave(&o, a.Query.String(), a.Story))
	}
	return a.Story
}

// Never explores a strategy, and fails the test if p holds in a state, with the path to it as a
// script of [Stories]. It also fails if a law is broken. The log says whether a bound was reached:
// otherwise p never holds.
func Never(t testing.TB, factory func() strategy.Strategy, o explore.Options, p explore.Predicate) {
	t.Helper()
	ask(t, factory, o, explore.Never(p))
}

// Leads explores a strategy, and fails the test if first holds in a state and later neither in this
// one nor after it, see [explore.Leads], with a path that shows it as a script of [Stories]. It
// also fails if first never holds, or a law is broken. The log says in how many states this is
// undecided, because a bound was reached.
func Leads(t testing.TB, factory func() strategy.Strategy, o explore.Options, first, later explore.Predicate) {
	t.Helper()
	ask(t, factory, o, explore.Leads(first, later))
}

// ask asks one query, after those of the Options.
func ask(t testing.TB, factory func() strategy.Strategy, o explore.Options, q explore.Query) *explore.Result {
	t.Helper()
	o.Queries = append(slices.Clip(o.Queries), q)
	o.UntilAnswered = true
	r := Explore(t, factory, o)
	if r == nil {
		return nil
	}
	return &r.Results[len(r.Results)-1]
}

// toSave returns a story, with a name for its file.
func toSave(o *explore.Options, about, story string) string {
	if story == "" {
		return ""
	}
	return "Save this story as " + fileName(o.Name+" "+about) + ":\n\n" + story
}

// mostWords is how many words the name of a story has.
const mostWords = 10

// fileName returns the name of a file for a story about something.
func fileName(about string) string {
	words := strings.FieldsFunc(strings.ToLower(about), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words[:min(len(words), mostWords)], "-") + ".txt"
}
