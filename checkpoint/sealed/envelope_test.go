package sealed

import (
	"bytes"
	"encoding/hex"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

// FuzzEnvelope opens whatever a store may hold: it opens only as the very envelope that was sealed,
// at the place that it was sealed for.
func FuzzEnvelope(f *testing.F) {
	key, err := NewKey("2026", bytes.Repeat([]byte{7}, SecretSize))
	require.NoError(f, err)
	s := &store{keys: Keys{Current: key}, byID: map[string]Key{key.id: key}}
	here := place{key: checkpoint.Key{Namespace: "n", Run: "r"}, kind: aRecord, number: 3, name: "noted"}
	data := []byte(`{"v":2,"type":"noted"}`)
	// Sealed once: a fuzz target runs in several processes, and each would draw another nonce.
	whole, err := hex.DecodeString("00534753010432303236df13859fb89ed0a1bc4ef8ffc1a2e138ccaa1c57" +
		"c38ac69b14782f86303643c035bc27a52521a9c2c75e83462dafbbba94fb")
	require.NoError(f, err)
	f.Add(whole, "n", "r", 3, "noted", false)
	f.Add(whole[:len(whole)-1], "n", "r", 3, "noted", false)
	f.Add(whole, "nr", "", 3, "noted", false)
	f.Add(data, "n", "r", 3, "noted", false)
	f.Add([]byte("\x00SGS\x01\xff"), "", "r", 0, "", false)
	f.Add([]byte("\x00SGS\x02\x01k"), "", "r", 1, "", false)
	f.Add(whole, "n", "r", 3, "", true)
	f.Fuzz(func(t *testing.T, text []byte, namespace, run string, record int, name string, snapshot bool) {
		there := place{key: checkpoint.Key{Namespace: namespace, Run: run}, kind: aRecord, number: max(record, 0), name: name}
		if snapshot {
			there.kind = aSnapshot
		}
		o := opener{s: s}
		got, err := o.open(there, slices.Clone(text))
		if there == here && bytes.Equal(text, whole) {
			require.NoError(t, err)
			require.Equal(t, data, got)
			return
		}
		e, ok := errors.AsType[*openError](err)
		require.True(t, ok, "%q was opened at %v", text, there)
		require.Equal(t, there, e.place)
		require.LessOrEqual(t, len(e.keyID), maxKeyID)
	})
}

// TestAbilities_areDecided has somebody decide, for each ability of stores, whether it holds what
// has to be sealed: what New does not seal passes through as it is.
func TestAbilities_areDecided(t *testing.T) {
	decided := map[string]string{
		"Store":         "sealed",
		"Inbox":         "sealed",
		"Lister":        "heads alone",
		"Leaser":        "heads alone",
		"Pruner":        "keys alone",
		"SnapshotStore": "sealed",
		"ValueStore":    "sealed",
	}
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	var found []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				if _, is := spec.Type.(*ast.InterfaceType); is {
					found = append(found, spec.Name.Name)
					require.Contains(t, decided, spec.Name.Name, "may what it holds be read without a key? If not, New has to seal it")
				}
			}
			return true
		})
	}
	require.Len(t, found, len(decided))
}
