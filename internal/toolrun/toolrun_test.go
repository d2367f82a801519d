package toolrun_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add(_ context.Context, arguments string) (string, error) {
	var in sum
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", err
	}
	return strconv.Itoa(in.A + in.B), nil
}

func noop(context.Context, string) (string, error) { return "3", nil }
