package reflection_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy/reflection"
)

func TestS1_13_Approved(t *testing.T) {
	for critique, want := range map[string]bool{
		// The eight cases of the scenario.
		"NOT APPROVED":                            false,
		"This cannot be approved yet":             false,
		"Disapproved":                             false,
		"I would write APPROVED if line 2 rhymed": false,
		"APPROVED":                                true,
		"approved.":                               true,
		"**APPROVED**":                            true,
		"APPROVED\nNice work":                     true,

		"":                            false,
		" \n\t":                       false,
		"\n\n  Approved!\n ":          true,
		"\"APPROVED\"":                true,
		"“Approved”":                  true,
		"`APPROVED`":                  true,
		"```\nAPPROVED\n```":          true,
		"# APPROVED":                  true,
		"[APPROVED]":                  true,
		"✅ APPROVED":                  true,
		"Verdict: APPROVED":           true,
		"**Final verdict:** approved": true,
		"## Verdict\n\nAPPROVED":      true,

		"approve":                 false,
		"unapproved":              false,
		"approved-ish":            false,
		"APPROVED?":               false,
		"~~APPROVED~~":            false,
		"[ ] APPROVED":            false,
		"❌ APPROVED":              false,
		"APPROVED: no":            false,
		"Approved = false":        false,
		"Not a verdict: fixed":    false,
		"No verdict: APPROVED":    false,
		"Verdict: NOT APPROVED":   false,
		"APPROVED / NOT APPROVED": false,

		// Text after the verdict, on the same line or below.
		"APPROVED. The rhyme is fine.":                true,
		"**APPROVED.** The rhyme is fine.":            true,
		"APPROVED - nice":                             false,
		"**APPROVED** — no changes needed":            false,
		"**APPROVED** No changes needed.":             false,
		"APPROVED. No changes needed.":                true,
		"Approved - it needs work before it can ship": false,
		"Approved with minor suggestions.":            false,
		"APPROVED!\n\nLet me know if you want more.":  true,
		"APPROVED\nIt was approved by all of us.":     true,
		"Approved, but fix line 2":                    false,
		"APPROVED with changes":                       false,
		"APPROVED - once line 2 rhymes":               false,
		"APPROVED. But only if line 2 rhymes.":        false,
		"APPROVED\nHowever, line 2 is weak.":          false,
		"APPROVED\nNice work, but fix line 2.":        false,
		"APPROVED\n\nif line 2 rhymed":                false,
		"APPROVED\nNot!":                              false,
		"APPROVED. No.":                               false,
		"APPROVED\nNOT APPROVED":                      false,
		"APPROVED...not":                              false,
		"APPROVED\nSorry, I meant: disapproved.":      false,

		// A verdict at the end.
		"The rhyme is fine.\nAPPROVED":                          true,
		"I had hoped for more, but it will do.\n\n**APPROVED**": true,
		"Strengths:\n- rhyme\n- metre\n\nAPPROVED":              true,
		"1. rhyme\n2. metre\n\nVerdict: APPROVED.":              true,
		"It isn’t bad.\nVerdict:\nAPPROVED":                     true,
		"Line 2 was wrong. Now it rhymes.\n\nAPPROVED":          true,
		"NOT\nAPPROVED":                                     false,
		"I do not call this\n\nAPPROVED":                    false,
		"If line 2 rhymed, I would write:\n\nAPPROVED":      false,
		"If line 2 rhymed. Then.\n\nAPPROVED":               false,
		"To get there,\nAPPROVED":                           false,
		"This isn't approved yet.\nAPPROVED":                false,
		"It is good.\nAPPROVED, nearly":                     false,
		"It is good.\nAPPROVED. Nearly.":                    false,
		"Reply with\nAPPROVED\nor with what has to change.": false,

		// JSON.
		`{"approved": true}`:                                     true,
		`{"approved": true, "feedback": "not approved"}`:         true,
		"```json\n{\"approved\": true, \"feedback\": \"\"}\n```": true,
		`{"approved": false}`:                                    false,
		`{"approved": true, "approved": false}`:                  false,
		`{"approved": "true"}`:                                   false,
		`{"approved": null}`:                                     false,
		`{"APPROVED": true}`:                                     false,
		`{"approved": false, "Approved": true}`:                  false,
		`[true]`:                                                 false,
		`{"approved": true`:                                      false,
	} {
		require.Equal(t, want, reflection.Approved(critique), "%q", critique)
	}
}

func FuzzApproved(f *testing.F) {
	for _, s := range []string{"APPROVED", "NOT\nAPPROVED", "Verdict: [approved]. Nice.", "```json\n{\"approved\":true}\n```", "APPROVED —\xff", "é\n\nAPPROVED"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, critique string) {
		if reflection.Approved(critique) {
			require.Contains(t, strings.ToLower(critique), "approved")
		}
		require.False(t, reflection.Approved("NOT APPROVED. "+strings.ReplaceAll(critique, "\n", " ")), "a refusal in the first words is never overruled on its line")
	})
}
