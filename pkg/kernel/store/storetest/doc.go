// Package storetest holds what every store is tested with, and what others test with a store.
//
// [Run] is the conformance suite: every promise of [store.Store] and [store.Session], tried through two handles on the same
// data. A store's whole conformance test is one call of it. What only one store promises is tested in that store's package.
// [Benchmark] measures the operations that a kernel lives on.
//
// [Faulty] wraps a store to number its calls and to fail them, hold them and end them at a chosen one, before or after it
// took effect. It shows what a caller makes of errors, of unknown outcomes, of races and of its own death.
package storetest
