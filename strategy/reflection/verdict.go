package reflection

import "github.com/segue-go/segue/strategy/internal/verdict"

// Critique is a judgement of a draft.
type Critique = verdict.Critique

// Approved reports whether a critique approves the draft. It is strict, because a needless revision
// costs only a round, but a draft that is approved by mistake is never corrected.
//
// A critique in JSON, in a fenced code block or not, approves with {"approved": true}, which must
// occur once. A critique in words approves if the word "approved" is a sentence of its own: its
// first line, the first sentence of that line, or its last line. Letter case, quotes, Markdown
// marks and a label ("Verdict:") do not matter. A verdict does not count if its sentence continues
// ("Approved - it needs work"), or if it is negated or made conditional ("not approved", "APPROVED.
// But only if line 2 rhymes"). All other text is ignored: a critic that lists faults, and approves
// at the end, has approved.
func Approved(critique string) bool { return verdict.Read(critique).Approved }
