// Package agent is the turn: it asks a model and runs the tools the model calls. It keeps nothing between two calls, so that any
// process can go on where another stopped.
//
// Every call of a tool goes through its effect ref. A tool that declares itself safe is executed at least once, every other at most
// once: right before it runs, its intent is written under the lease and the call's context is looked at once more. What remains is the
// time between these two and the tool's own first act, in which the process can lose its lease without knowing. Nothing but the tool
// can close that window, for example with an idempotency key made of the run and call id.
package agent
