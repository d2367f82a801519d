// Package archtest holds the laws of the module's architecture as tests: which package may import
// which, what the core may depend on, and what pure code may not touch.
//
// The tables in the tests are a statement of policy. A build that breaks them is put right in the
// code, not here.
package archtest
