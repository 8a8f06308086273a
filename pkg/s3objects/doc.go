// Package s3objects keeps bodies in an S3 bucket, each under a key that is used once and never again.
//
// A body is put on the condition that its key is free, so that whoever puts it again after a lost answer finds out whether
// it is there, and nobody replaces it. It carries its SHA-256, which every read checks. What S3 asks to be tried again is
// tried again here, with full jitter and within bounds: a conflict of conditional requests (409), too many requests (503),
// failures of the service and of the connection.
package s3objects
