// Package sdk is the facade of Stepwell: sessions, messages, runs, heads and events as plain data, over a store, a turn and a landing
// policy. [Stepwell] implements [api.Service]; the HTTP client implements the same interface, so that callers cannot tell them apart.
//
// The package owns what the kernel leaves open: the default head, the default lanes, the run of a host ([Stepwell.Attach]), and the
// projection of stored events into session events.
package sdk
