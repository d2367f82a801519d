package terminal

import (
	"fmt"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/messages"
)

// turn is how long the spinner shows one of its faces.
const turn = 125 * time.Millisecond

var faces = [...]string{"|", "/", "-", `\`}

// activity is the last line of a terminal while a run works: a spinner, the time, the cost, and
// what happens now.
type activity struct {
	now    string // what happens; only read if there is something
	on     bool   // there is something
	shown  bool   // it is on the last line
	cells  int    // the columns that it takes there
	face   int
	spent  spent
	begun  time.Time     // when the run was first seen
	asking time.Time     // since when somebody is asked; zero: nobody is
	asked  time.Duration // how long somebody was asked, which is no time of the run
	timer  *time.Timer   // turns the spinner
}

// spent is what a run has cost.
type spent struct {
	cost     messages.Cost
	unpriced int // model calls that it does not include
}

// text returns the amount; "" if there is none.
func (s spent) text() string {
	switch {
	case s.cost == 0:
		return ""
	case s.unpriced > 0:
		return "at least " + s.cost.String()
	default:
		return s.cost.String()
	}
}

// elapsed returns for how long the run has worked.
func (a *activity) elapsed() time.Duration {
	if a.begun.IsZero() {
		return 0
	}
	return time.Since(a.begun) - a.asked
}

// ask stops the time of the run, and answered goes on with it.
func (a *activity) ask() {
	if a.asking.IsZero() {
		a.asking = time.Now()
	}
}

func (a *activity) answered() {
	if !a.asking.IsZero() {
		a.asked += time.Since(a.asking)
		a.asking = time.Time{}
	}
}

// front returns the spinner, the time from the first second on, and the cost if there is one.
func (a *activity) front() string {
	front := faces[a.face%len(faces)] + " "
	if d := a.elapsed().Truncate(time.Second); d > 0 {
		front += d.String() + " "
	}
	if cost := a.spent.text(); cost != "" {
		front += cost + " "
	}
	return front
}

// paint writes the last line anew, and has it turn. The terminal does not wrap it: characters that
// it shows wider than they are measured would leave rows behind.
func (s *Screen) paint() {
	if !s.Live() || s.open != "" || s.taken || !s.doing.on {
		return
	}
	text := s.doing.front() + s.doing.now
	if hint := "  " + s.hint; s.hint != "" && plaintext.CellsOf(text+hint) < s.Size().Columns {
		text += hint
	}
	s.write(s.erased() + "\x1b[?7l" + s.dressed(Line{Dim, text}) + "\x1b[?7h")
	s.doing.shown, s.doing.cells = true, min(plaintext.CellsOf(text), s.Size().Columns)
	if s.doing.timer == nil {
		s.doing.timer = time.AfterFunc(turn, s.turn)
	}
}

// erased removes the last line, also where a terminal that became narrower has broken it.
func (s *Screen) erased() string {
	if above := (s.doing.cells - 1) / s.Size().Columns; s.doing.shown && above > 0 {
		return fmt.Sprintf("\x1b[%dA\r\x1b[J", above)
	}
	return "\r\x1b[K"
}

// turn shows the next face of the spinner.
func (s *Screen) turn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { _ = recover() }() // the next event meets the defect where the terminal is restored
	s.doing.timer = nil
	s.doing.face++
	s.paint()
}

// rest ends the activity.
func (s *Screen) rest() {
	s.doing.on = false
	if s.doing.timer != nil {
		s.doing.timer.Stop()
		s.doing.timer = nil
	}
}
