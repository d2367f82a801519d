package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// discardTyped empties the buffer in which a console keeps what was typed and not read. Of what is
// no console it forgets nothing.
func discardTyped(r io.Reader) {
	if f, ok := r.(*os.File); ok {
		_ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
	}
}
