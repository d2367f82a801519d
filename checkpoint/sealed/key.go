package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/segue-go/segue/checkpoint"
)

// SecretSize is how many bytes the secret of a [Key] has.
const SecretSize = 32

// maxKeyID is how many bytes the id of a key may have.
const maxKeyID = 64

// Key is a secret with a name. Make one with [NewKey]. It prints as its id.
type Key struct {
	id     string
	secret []byte // nil: the zero Key
}

// NewKey returns the key of a secret: [SecretSize] random bytes, as crypto/rand.Read makes them, no
// password. The id stands, readable, with all that is sealed: 1 to 64 bytes of ASCII without
// spaces. Two secrets must never have the same. The secret is copied.
func NewKey(id string, secret []byte) (Key, error) {
	if len(id) == 0 || len(id) > maxKeyID {
		return Key{}, fmt.Errorf("sealed: the id of a key has %d bytes: want 1 to %d", len(id), maxKeyID)
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return Key{}, fmt.Errorf("sealed: the id of a key is %q: want ASCII without spaces", id)
		}
	}
	if len(secret) != SecretSize {
		return Key{}, fmt.Errorf("sealed: the secret of key %q has %d bytes: want %d", id, len(secret), SecretSize)
	}
	return Key{id: id, secret: append([]byte(nil), secret...)}, nil
}

// ID returns the name of the key.
func (k Key) ID() string { return k.id }

// Format writes the id of the key, whatever the verb: no secret comes into a log.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "key "+k.id) }

// Keys are what a store is sealed with. Current is required.
type Keys struct {
	Current Key   // seals, and opens what it has sealed
	Old     []Key // open what was sealed with them

	// ReadPlain has records and messages opened that were never sealed, as those of runs that are
	// older than the sealing. Whoever writes the store can then put in what nobody has sealed:
	// leave it off once these runs have ended. A record that is not sealed, behind one that is, is
	// refused all the same.
	ReadPlain bool
}

// byID returns the keys by their ids.
func (k *Keys) byID() (map[string]Key, error) {
	if k.Current.secret == nil {
		return nil, errors.New("sealed: Keys.Current is missing: make a key with NewKey")
	}
	all := map[string]Key{k.Current.id: k.Current}
	for i, old := range k.Old {
		if old.secret == nil {
			return nil, fmt.Errorf("sealed: Keys.Old: number %d is the zero Key", i)
		}
		if _, ok := all[old.id]; ok {
			return nil, fmt.Errorf("sealed: two keys have the id %q", old.id)
		}
		all[old.id] = old
	}
	return all, nil
}

// cipher returns the cipher of one run: a key of its own keeps the number of nonces that one key
// sees small, however many runs there are.
func (k Key) cipher(run checkpoint.Key) (cipher.AEAD, error) {
	info := string(appendText(appendText([]byte("segue sealed 1"), run.Namespace), run.Run))
	derived, err := hkdf.Key(sha256.New, k.secret, nil, info, SecretSize)
	if err != nil {
		return nil, fmt.Errorf("sealed: key %q: %w", k.id, err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("sealed: key %q: %w", k.id, err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("sealed: key %q: %w", k.id, err)
	}
	return aead, nil
}
