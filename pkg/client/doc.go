// Package client is an [api.Service] over HTTP, and the outbox that keeps what a person said until it is durable.
//
// A [Client] asks once: an error of the network comes back to the caller. Two things retry by themselves, because they can
// do so safely: [Client.Watch] comes back with its cursor, and an [Outbox] sends again under the same key (invariant 40).
package client
