// Package history records calls of sessions with their answers, and judges whether one order of single steps explains them all.
//
// A [Recorder] wraps the handles of concurrent clients. A call whose outcome its caller never learned stays open: it may have
// happened at any time after its call, or not at all. Two checkers judge what was recorded, and share nothing but the records:
//
//   - [Witness] takes the order that the store itself claims, its sequence numbers and fences, and holds every answer and the
//     whole event stream against it. It takes linear time, apart from sorting.
//   - [Linearizable] believes no number: it searches for any order that a model of refs and leases allows, one session at a
//     time. It takes exponential time at worst, so it is for short histories. It does not see the event stream.
//
// A [Workload] makes histories worth judging: few refs and leases, many clients, a clock that runs leases out.
package history
