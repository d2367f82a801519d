// Package archtest tests the rules of the module's architecture: which package may import which,
// what the core may depend on, and what pure code may not use.
//
// The tables in the tests are a statement of policy. If a build breaks them, fix the code, not the
// tables.
package archtest
