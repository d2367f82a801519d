package checkpointtest_test

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint/checkpointtest"
)

// failing is a test that is to fail.
type failing struct {
	*testing.T
	texts []string
}

func (f *failing) Failed() bool                      { return len(f.texts) > 0 }
func (f *failing) Logf(format string, args ...any)   { f.T.Logf(format, args...) }
func (f *failing) Fail()                             { f.texts = append(f.texts, "failed") }
func (f *failing) FailNow()                          { f.Fail() }
func (f *failing) Error(args ...any)                 { f.texts = append(f.texts, fmt.Sprint(args...)) }
func (f *failing) Fatal(args ...any)                 { f.Error(args...) }
func (f *failing) Errorf(format string, args ...any) { f.Error(fmt.Sprintf(format, args...)) }
func (f *failing) Fatalf(format string, args ...any) { f.Error(fmt.Sprintf(format, args...)) }

// Random operations find out what is broken, where one client can see it.
func TestModel_findsBrokenStores(t *testing.T) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s", "rapid.steps": "90"} {
		was := flag.Lookup(name).Value.String()
		require.NoError(t, flag.Set(name, value))
		t.Cleanup(func() { require.NoError(t, flag.Set(name, was)) })
	}
	for _, name := range []string{
		"renumbers", "appends in part", "reads all", "clears headers", "finds heads", "forgets writers", "knows no writers", "fences first", "fences none",
		"lets epochs lie", "skips the old", "leases all", "no recoveries", "counts heartbeats", "leases quietly", "appends alone", "no progress",
		"posts to anybody", "takes in vain", "takes none", "posts twice", "forgets none", "deletes one",
		"keeps the first", "keeps the last", "keeps the earlier", "one drawer", "saves of anybody", "saves any number", "snapshots outlive",
		"the last value", "one shelf", "values of anybody", "values outlive", "lists them backward", "size of the part",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken, ok := brokenStores()[name]
				require.True(t, ok)
				f := &failing{T: t}
				checkpointtest.ModelOf(f, &store{flaws: broken.flaws})
				require.NotEmpty(t, f.texts)
			})
		})
	}
}
