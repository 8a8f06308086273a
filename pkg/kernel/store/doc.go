// Package store is the contract between the kernel and its stores.
//
// A session is one repository with four namespaces: immutable objects, refs that move only by one multi-ref compare-and-swap,
// fenced leases, and one ordered event stream. A [Store] holds many sessions. The read half, [Reader], is what projections
// take, so that a projection cannot write (invariant 19).
//
// # Rules that hold for every method
//
//   - Consistency: reads of refs, leases and events see every write that returned before the read began, from any process.
//     One call sees one instant.
//   - Durability: a write that returned without error survives the death of the process, and of the machine unless a store
//     says otherwise.
//   - Concurrency: every method may be called from many goroutines and many processes.
//   - Retries: a store retries its own contention; a caller retries a returned [UpdateConflict] after re-reading.
//   - Outcomes are values with a nil error. A non-nil error means that the outcome is unknown: the write may or may not have
//     happened. Re-read; a compare-and-swap tells by itself, since its To is already there.
//   - Ownership: slices that go in are not modified and not kept; slices that come out belong to the caller, except object
//     bodies, which are shared and must not be modified.
//
// Package storetest holds the suite that every store passes.
package store
