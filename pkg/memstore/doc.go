// Package memstore is the reference store: a [store.Store] in memory, for tests, for simulations and for sessions that need
// not outlive the process.
//
// It keeps what a real store keeps. Objects and events are held as their stored bytes and verified when they are read;
// leases are fenced and expire by an injected clock; watchers are woken by commits and never poll. [Store.Another] opens a second
// handle on the same data, which behaves as a second process does.
//
// Its durability is that of the process.
package memstore
