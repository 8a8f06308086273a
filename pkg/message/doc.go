// Package message defines what a conversation is made of: messages, their parts, usage, and the selection shapes a
// client draws. It is data only: no I/O, no context, no store.
//
// All texts are UTF-8. All times are epoch milliseconds. Optional members are absent on the wire, never null.
package message
