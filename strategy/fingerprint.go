package strategy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Fingerprint returns a short hash of the table, as hexadecimal digits. It covers the name, the
// states with what each awaits, and the rules with their caps. It does not depend on the order of
// declaration or on the phases, which are for people. A run that was stored for days uses it to
// detect that the table of its strategy has changed.
func (t *Table) Fingerprint() string {
	t.hash.Do(func() { t.sum = t.hashed() })
	return t.sum
}

func (t *Table) hashed() string {
	var lines []string
	for _, s := range t.States {
		lines = append(lines, fmt.Sprintf("state %q awaits %d", s.Name, s.Awaits))
	}
	for _, r := range t.Rules {
		for _, from := range r.From {
			lines = append(lines, fmt.Sprintf("rule %q on %q to %q cap %q", from, r.On, r.To, r.Cap))
		}
	}
	slices.Sort(lines)
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "table %q initial %q\n", t.Name, t.Initial)
	for _, line := range lines {
		_, _ = fmt.Fprintln(sum, line)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
