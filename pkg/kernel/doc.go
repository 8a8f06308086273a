// Package kernel is the durable runtime of a conversation: many participants submit at once, and whoever holds the lease of a head advances
// its run one durable step at a time, with no state in memory that outlives a step (invariant 12).
//
// It keeps three promises:
//
//   - It runs anywhere. [Session.Step] reads all durable state, does one durable action, and returns. [Session.Drive] is the same loop
//     kept warm.
//   - Any number of participants write at once. [Session.Submit] and its like never take a runner's lease; they linearize by
//     compare-and-swap and retry the conflicts they expect (invariant 6).
//   - Accepted input is not lost and published history is not rewritten.
//
// # Scenes
//
//  1. Three phones submit at the same moment into one lane of an idle head: all succeed, one chain, the oldest lands first.
//  2. A run is killed between a tool's intent and its result: another process takes over, runs a safe call again or settles a
//     never call as interrupted, and carries on.
//  3. A tool parks, the host exits, an hour later a phone answers: the first signal wins and the next runner settles the call.
//  4. A handler submits, runs one step, and exits; the next one takes the next step.
//
// # The step
//
//	            +--------------------- land (boundary) <-----+
//	            v                                            |
//	idle --land--> respond --model--> tools --all settled----+
//	                 |  ^               |
//	                 |  +--- retry      +--parked--> waiting --signal, deadline, abort--> tools
//	                 v
//	           done | failed | aborted
//
// Every publish is one multi-ref compare-and-swap that carries the lease and asserts that the session is not being deleted (invariants
// 8 and 35). Output that loses its race stays loose; input is never consumed by failure, abort or supersession.
//
// The package names no head and no lane (invariant 43): which lanes exist and when each lands is the [Landing] policy a runner
// passes to every step.
package kernel
