// Package sqlitestore keeps sessions in one SQLite file.
//
// It is the embedded store: pure Go, many processes on one file of one machine, and durable by default (WAL with
// synchronous FULL).
//
// # Writing
//
// All writes of a [Store] pass one queue. Whoever finds it idle runs everything that waits in one transaction, each call in a
// savepoint of its own, and answers after the COMMIT: calls that arrive together share one fsync, and a single caller waits
// for nobody. Other processes are kept out by SQLite's own write lock.
//
// A write that has returned survives the death of the machine, or with [Normal] that of the process. Leases only survive the process:
// they are liveness, and all holders end with the machine, see setSync.
//
// # Waking
//
// Watches of the same Store are woken by the commit itself. For other processes the writer touches a file after the COMMIT;
// they watch it through the operating system and look which sessions have moved.
//
// # Leases of the dead
//
// A Store holds an operating-system lock for its life. A lease whose Store has lost that lock is abandoned and taken over at
// once; see owner.go.
//
// # Files
//
//	<path>            the database; beside it SQLite's own <path>-wal and <path>-shm
//	<path>-owners/    one locked file for each open Store, touched at every commit, and the lock that serializes opening
//
// The file system must be a local one: neither the WAL nor the locks work across machines.
package sqlitestore
