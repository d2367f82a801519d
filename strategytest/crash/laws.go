package crash

import (
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// law is something that holds in every run that is cut off; see the package. The laws are checked
// apart from each other: what breaks one and no other is not found without it.
type law string

const (
	lawRequests law = "requests are those of the run that is not cut off"
	lawEnd      law = "status, output and what happened are those of the run that is not cut off"
	lawTold     law = "events and the output are told as the journal has them, after it has them"
	lawStored   law = "that a call begins which is not safe to make again is stored before"
	lawOnce     law = "a call that is not safe to make again is begun once, and again if somebody says so"
	lawAnswered law = "what has its answer in the journal is not done again"
	lawKey      law = "a call that is made again has the same idempotency key"
	lawJournal  law = "the store holds each record once, in order, and it can be read back"
	lawKept     law = "a large result is kept whole and once, before a record names it"
	lawFrozen   law = "a process that was frozen stores nothing more, and knows that the run was taken over"
	lawGoesOn   law = "another process goes on with the run, and it ends"
	lawCheck    law = "Check of the case holds"
)

// senses are what tests make of what the kit sees of a process, so that the process seems broken.
// What is nil changes nothing.
type senses struct {
	effect  func(*world, *machine.Effect)     // that begins
	key     func(w *world, key string) string // the idempotency key of a call
	event   func(*world, *machine.Event)      // that is told
	records func([]checkpoint.Record)         // that are stored
}
