// Package crash cuts a run off wherever it can be, and holds it to end as if it had not been.
package crash
