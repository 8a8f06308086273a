// Package cloudtest plays sessions on the store of the cloud, DynamoDB with S3 beside it, as every other store is played on: the four
// scenes, crashes, and crowds. The kernel's own tests run over its [Open] as well.
//
// All tests of a binary share a table and a bucket, which the first makes; each test is a tenant of its own. Every store that a test opens
// stands for a process: it has a transport of its own, which counts its requests, lets them meet faults, and ends the process between any
// two of them.
package cloudtest
