package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// discardTyped empties the input buffer of a console. It does nothing if r is not a console.
func discardTyped(r io.Reader) {
	if f, ok := r.(*os.File); ok {
		_ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
	}
}
