package crash

import "github.com/segue-go/segue/checkpoint"

// On returns the case on another store than checkpoint.Memory, made of one.
func (c Case) On(broken func(checkpoint.Store) checkpoint.Store) Case {
	c.broken = broken
	return c
}
