package terminal

import "os"

// Controlling opens the console of this process, to read what the user types. It returns nil if
// there is none.
func Controlling() *os.File {
	f, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return f
}
