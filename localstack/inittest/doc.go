// Package inittest weighs the functions and starts them, each beside a handler that does nothing, so that what a function adds to the platform's own
// cold start is seen. It needs no cloud: the runtime is played by the test, and a function that asked anybody anything before its first
// invocation would fail it.
package inittest
