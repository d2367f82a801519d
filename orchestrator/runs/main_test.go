package runs_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Most tests of this package are in the folder above, whose scenes they need: diff_test.go,
// export_test.go, fork_test.go and import_approvals_test.go.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
