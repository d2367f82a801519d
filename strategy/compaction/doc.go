// Package compaction keeps the conversation of a strategy within the window of its model: when a
// request comes near it, old turns are summarized by a model, or left out.
//
// What stays, word for word: system messages, messages that are pinned ([messages.User].Pinned),
// the message of the task, and the last turns ([Config].Keep), or as many of them as fit. A turn
// begins with a message of the user. If the last turn alone is too long, because of the rounds of
// calls in it, the last rounds of it stay. Calls always keep their results. In place of what is old
// stands one message ([messages.User].Summary), and a later compaction summarizes it with what
// follows it. It is marked as untrusted if it stands for untrusted text.
//
// The length of a request is estimated from its bytes. The provider's own usage calibrates the
// estimate. An estimate reads only what is new in a request, so that it costs the same in a long
// conversation. A compaction reads at most a window.
//
// Each request that follows a compaction says so ([nextstep.GetChatCompletion].Compacted), and the
// run emits an event of kind "compacted". The journal of a run has the whole conversation
// nevertheless.
package compaction
