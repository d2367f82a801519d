package run

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
)

// Ways are the command lines that continue or show a stored run. They are empty if runs are not
// stored.
type Ways struct {
	Resume, Answer, Show, runs string
	Asked                      bool                              // a person was asked and did not answer
	Anyway                     map[string]machine.ApprovalPolicy // its keys are the tools that always ask
}

// WaysOf returns the command lines for a run; none if runs are not stored.
func WaysOf(st *cli.RunStore, run string) Ways {
	if st == nil {
		return Ways{}
	}
	return Ways{Resume: st.Command("resume", run), Answer: st.Command("answer", run), Show: st.Command("show", run), runs: "segue runs" + st.Said}
}

// offers returns lines about the other commands for a run that has not ended. The error of the
// command already says how to continue the run.
func (on Ways) offers(status machine.Status) []string {
	if on.Resume == "" {
		return nil
	}
	looks := []string{"see what it did with: " + on.Show, "list all runs with: " + on.runs}
	switch status {
	case machine.StatusWaiting:
		return append([]string{"answer from anywhere with: " + on.Answer}, looks...)
	case machine.StatusInterrupted:
		return looks
	default:
		return nil
	}
}

// interrupting returns the text that explains a first and a second signal.
func interrupting(st *cli.RunStore) string {
	if st == nil {
		return "stopping; press Ctrl-C again to end at once"
	}
	return "interrupting the run; press Ctrl-C again to end at once; either way it goes on with: segue resume" + st.Said
}

// Waiting returns the error of a run that waits for a person. It says how to continue.
func Waiting(waits []machine.Wait, files *workfolder.Folder, on Ways) error {
	approvals, protected, anyway, unknown, answers := 0, 0, 0, 0, 0
	for _, w := range waits {
		switch {
		case w.Kind == machine.WaitUnknown:
			unknown++
		case w.Kind != machine.WaitApproval:
			answers++
		case files.Protection(w.Tool, w.Arguments) != "":
			protected++
			approvals++
		case on.Anyway[w.Tool] != nil:
			anyway++
			fallthrough
		default:
			approvals++
		}
	}
	var what []string
	if approvals > 0 {
		what = append(what, plaintext.Counted(approvals, "approval"))
	}
	if protected > 0 {
		what[0] += " (" + strconv.Itoa(protected) + " of protected files, which are asked about each time)"
	}
	if anyway > 0 {
		what[0] += " (" + strconv.Itoa(anyway) + " of tools that always ask)"
	}
	if answers > 0 {
		what = append(what, plaintext.Counted(answers, "answer"))
	}
	if unknown > 0 {
		what = append(what, plaintext.Counted(unknown, "decision")+" about calls that may have had their effect")
	}
	why, begin, resume := "nobody can be asked here", "run it in a terminal", "go on in a terminal with: "
	if on.Asked {
		why, begin, resume = "was given none", "run it again", "go on with: "
	}
	how := begin + otherwise(approvals, protected+anyway, answers, unknown, on.Asked)
	if on.Resume != "" {
		how = resume + on.Resume + "; or answer with: " + on.Answer
	}
	return fmt.Errorf("the run waits for %s, and %s; %s", strings.Join(what, " and "), why, how)
}

// otherwise returns how to start a run again without a terminal if runs are not stored.
func otherwise(approvals, always, answers, unknown int, asked bool) string {
	var how []string
	switch {
	case unknown > 0:
		return ""
	case always > 0:
		how = append(how, "with --approve never")
	case approvals > 0:
		how = append(how, "with --approve always or --approve never")
	}
	switch {
	case answers > 0 && asked:
		how = append(how, "with the answer in the task or with --no-ask")
	case answers > 0:
		how = append(how, "with the answer in the task or without --ask")
	}
	return ", or " + strings.Join(how, ", and ")
}
