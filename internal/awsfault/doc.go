// Package awsfault stands between the AWS SDK and a cloud, as an HTTP transport: it plays the faults that no emulator has,
// and counts what a bill and a clock would.
//
// A Plan says which requests meet which Effect: the nth, a burst, those of an operation, or each with some probability
// from a seed. What the SDK then sees is what the service would have sent: JSON 1.0 errors of DynamoDB with their type and
// cancellation reasons, XML errors of S3, broken connections. A plan can also end a process between any two requests, see
// Kill.
//
// Counts has requests by operation, the longest chain of requests that waited for each other, and read and write units by
// the published rules: a write unit is 1 KB of the larger of the item before and after, a read unit 4 KB, half of it where
// the read did not ask for consistency, and twice in transactions, whose condition checks are paid like writes. Failed
// conditions are paid, requests that never arrived and throttled ones are not. Secondary indexes are counted apart.
package awsfault
