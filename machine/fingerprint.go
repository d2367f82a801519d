package machine

import "github.com/segue-go/segue/strategy"

// Fingerprints returns the fingerprint of the table of each strategy in the set, by name, for
// [Config].Fingerprints. A strategy has no fingerprint if it has no table, or if its factory or its
// FSM method panics. Fingerprints makes each strategy once.
func Fingerprints(set strategy.Set) map[string]string {
	prints := map[string]string{}
	for name := range set {
		if sum := Fingerprint(set, name); sum != "" {
			prints[name] = sum
		}
	}
	return prints
}

// Fingerprint returns the fingerprint of the table of one strategy of the set, as in Fingerprints;
// "" if there is none.
func Fingerprint(set strategy.Set, name string) (sum string) {
	defer func() {
		if recover() != nil { // a run of that strategy reports the panic
			sum = ""
		}
	}()
	st, err := set.New(name)
	if err != nil {
		return ""
	}
	t, ok := st.(strategy.Tabler)
	if !ok {
		return ""
	}
	table := t.FSM().Table()
	if table == nil {
		return ""
	}
	return table.Fingerprint()
}
