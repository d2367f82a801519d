// Package messages represents a conversation as data: messages, their parts, tool calls and tool
// outputs, and token usage.
//
// [Message] and the content types are sealed sums. Their variants are values; a switch over them
// needs a default case only for nil and for pointers, which are programming errors.
//
// Providers refuse a request whose [History] breaks certain laws. [History.Validate] checks these
// laws. [History.Repair] returns a history that obeys them, and reports what it changed.
//
// The JSON form is versioned; see [History.MarshalJSON]. The functions of this package are pure.
// Its values are safe for concurrent reading.
package messages
