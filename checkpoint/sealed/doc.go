// Package sealed encrypts what a store keeps of runs: whoever reads the store's files, tables or
// backups without a key learns how runs stand, and nothing of what they are about.
//
//	key, err := sealed.NewKey("2026-11", secret) // 32 random bytes, kept apart from the store
//	…
//	store, err := sealed.New(inner, sealed.Keys{Current: key})
//	…
//	o, err := orchestrator.New(orchestrator.Config{Store: store, …})
//
// # What is sealed
//
// The data of every record, of every message of the inbox, of every snapshot and of every value.
// Each is encrypted and authenticated with AES-256-GCM and a random nonce, under a key that is
// derived from the secret for its run, and bound to its place: namespace, run, place in the journal
// and type; a message to its run and id; a snapshot to its run and the number of records; a value,
// in segments of 64 KiB, to its run, its id, its size and the place of the segment. So a record
// that was changed, or that stands at another place or in another run, is refused.
//
// # What is not
//
// Heads stay readable, so that runs are found without a key: namespace, run, status, strategy, ids
// and kinds of waits, when the run is due, its origin, labels, version, reason and times, and how
// many records it has; so do the type and the length of each record, and the length of the snapshot
// and how many records it stands for; and the id and the length of each value. The id of a large
// result is the hash of its text: who has the very same text sees that a run has it. Put nothing
// secret into ids and labels. The Reason of a parked run quotes the error that parked it.
//
// Sealing shows what was changed, not what is missing: whoever writes the store can take away the
// last records of a run, put an older copy of the whole run back, or delete it.
//
// # Other keys
//
// A record names the key that it was sealed with. To change keys, give the new one as Current and
// the others in Old; what is appended from then on has the new one. A record is never sealed anew
// where it stands, since journals are only appended to: read through one sealed store and append
// through another, as forks and exports do. A run that still needs a key is one that a store
// without the key refuses to read, with [ErrNoKey].
package sealed
