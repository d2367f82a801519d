// Package json is encoding/json, with what it reads counted.
package json

import (
	"bytes"
	"encoding/json"

	"github.com/segue-go/segue/markdownpolicy/internal/counted"
)

type (
	RawMessage  = json.RawMessage
	SyntaxError = json.SyntaxError
)

func Valid(data []byte) bool             { counted.Copied(data); return json.Valid(data) }
func Unmarshal(data []byte, v any) error { counted.Copied(data); return json.Unmarshal(data, v) }
func Compact(to *bytes.Buffer, data []byte) error {
	counted.Copied(data)
	return json.Compact(to, data)
}
