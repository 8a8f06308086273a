// Package object defines the six immutable object kinds of a session and the bytes they are hashed over.
//
// An object is named by its [OID]: the SHA-256 of its canonical JSON, RFC 8785 over the whole object with its "kind"
// member and no header. Writing the same value twice gives the same oid; any change of a member gives another.
//
//	commit  one entry of the conversation; one context parent (invariant 41)
//	change  one submitted entry of a lane, linked to the older one (invariant 36)
//	run     a head being advanced: phase, attempts, configuration
//	effect  one state of one tool call: intent, waiting, expired, signal, result
//	stack   the parent head and base of a stacked head
//	blob    a small JSON value: facts, tombstones, the deletion mark
//
// # Evolution
//
// Stored bytes never change. A new member is optional and absent when unset, so that old objects keep their oid. Member
// names are never reused. If a golden-bytes test fails, the change is wrong, not the test.
//
// This package does no I/O.
package object
