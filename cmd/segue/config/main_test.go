package config

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var rewrite = flag.Bool("rewrite", false, "write segue.schema.json anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
