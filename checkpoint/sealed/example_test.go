package sealed_test

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sealed"
)

// A sealed store keeps ciphertext. Whoever has the key reads what was written.
func Example() {
	secret := make([]byte, sealed.SecretSize)
	_, _ = rand.Read(secret) // or from wherever you keep secrets
	inner := new(checkpoint.Memory)
	store, err := open(inner, secret, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, key := context.Background(), checkpoint.Key{Run: "r"}
	err = store.Append(ctx, checkpoint.Batch{
		Key: key, Header: &checkpoint.Header{Status: checkpoint.StatusRunning}, Writer: "w", Epoch: 1,
		Records: []checkpoint.Record{{Seq: 1, Type: "noted", Data: []byte("hello")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []checkpoint.Store{store, inner} {
		for record, err := range s.Read(ctx, key, 1) {
			fmt.Println(string(record.Data) == "hello", err)
		}
	}
	// Output:
	// true <nil>
	// false <nil>
}

// open seals a store.
func open(inner checkpoint.Store, secret []byte, oldKeys []sealed.Key) (checkpoint.Store, error) {
	key, err := sealed.NewKey("2026-11", secret) // 32 random bytes, from wherever you keep secrets
	if err != nil {
		return nil, err
	}
	return sealed.New(inner, sealed.Keys{Current: key, Old: oldKeys})
}
