package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// judge is a judge whose replies a function makes from the text of the request.
func judge(reply func(string) string) *eval.Judge {
	return &eval.Judge{Agent: &segue.Agent{Model: model(func(r *llmclient.Request) messages.Assistant {
		return messages.AssistantText(reply(r.Messages.Last().(messages.User).Text()))
	})}}
}

func labels(n int) (all []eval.Label) {
	for i := range n {
		all = append(all, eval.Label{
			Task: "Name a prime number.", Criterion: "it is prime", Good: i%2 == 0,
			Answer: fmt.Sprintf("good %d", i), Worse: fmt.Sprintf("bad %d", i),
		})
		if i%2 == 1 {
			all[i].Answer, all[i].Worse = all[i].Worse, ""
		}
	}
	return all
}

// A judge that favours the first answer is found out, and so is one that approves of everything; a
// fair judge is not.
func TestJudge_bias(t *testing.T) {
	b, err := judge(func(text string) string {
		if strings.Contains(text, "Answer 2") {
			return "1"
		}
		return "APPROVED"
	}).Measure(t.Context(), labels(16))
	require.NoError(t, err)
	require.Equal(t, "first", b.Favours())
	require.Equal(t, 8, b.First)
	require.Zero(t, b.Right.Rate)
	require.InDelta(t, 0.5, b.Agreement.Rate, 1e-9)
	require.InDelta(t, 1, b.TooKind.Rate, 1e-9)
	require.Zero(t, b.TooStrict.Rate)

	b, err = judge(func(text string) string {
		_, answers, pair := strings.Cut(text, "Answer 1")
		switch {
		case pair && strings.Index(answers, "good") < strings.Index(answers, "bad"):
			return "Answer 1."
		case pair:
			return "**2**"
		case strings.Contains(text, "good"):
			return "Approved."
		}
		return "REJECTED: it is not prime."
	}).Measure(t.Context(), labels(16))
	require.NoError(t, err)
	require.Empty(t, b.Favours())
	require.Zero(t, b.First+b.Second)
	require.InDelta(t, 1, b.Right.Rate, 1e-9)
	require.InDelta(t, 1, b.Agreement.Rate, 1e-9)
}

// A case with a criterion is scored by the judge, who sees the answer between lines that it cannot
// write itself.
func TestJudge_scores(t *testing.T) {
	var asked string
	s := eval.Suite{
		Name: "sums", Cases: []eval.Case{{Name: "a", Goal: "Add 1 and 2.", Judge: "it names the sum"}},
		Variants: []eval.Variant{{Name: "right", Agent: adder(0)}},
		Judge: judge(func(text string) string {
			asked = text
			return "REJECTED, it is too short."
		}),
	}
	report, err := s.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, report.Variants[0].Sum().Passed)
	require.Equal(t, "judge: REJECTED, it is too short.", report.Variants[0].Cases[0].Why)
	require.Contains(t, asked, "Criterion: it names the sum\n")
	require.Contains(t, asked, "\n=====\nIt is 3.\n=====\n")

	s.Variants[0].Agent = adder(1)
	s.Judge = judge(func(string) string { return "APPROVED" })
	report, err = s.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, report.Variants[0].Sum().Passed, "the judge alone decides")
}
