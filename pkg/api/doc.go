// Package api is the vocabulary of the wire: the options of every operation, the outcomes a client switches on, the events
// it folds and the read models it draws. It is data only. The SDK, the HTTP handler and the HTTP client all speak it, so a
// program may be handed any [Service] without knowing where the session lives.
//
// # Outcomes and errors
//
// What a caller can decide on is an outcome: a value of a closed union, with the tag member "kind" on the wire and HTTP
// status 200. What it cannot decide on is an error: see errors.go. With a non-nil error the outcome is nil, and whether
// anything was written is unknown unless the error's text says otherwise.
//
// # JSON
//
// Use [Marshal] and [Unmarshal]. Times are epoch milliseconds. Required members are always present, lists are never null,
// optional members are absent when unset. A null object id means that there is none, such as the tip of an unborn head.
package api
