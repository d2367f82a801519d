// Package messages holds a conversation as data: messages, their parts, tool calls and their
// outputs, token usage.
//
// [Message] and the contents are sealed sums: variants are values, and a switch over them needs a
// default only for nil and for pointers, which are programming errors. A [History] obeys laws (see
// [History.Validate]) without which providers refuse a request; [History.Repair] makes any history
// obey them and says what it changed.
//
// The JSON form is versioned; see [History.MarshalJSON]. Everything here is pure and safe for
// concurrent reading.
package messages
