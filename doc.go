// Package stepwell is the root of a durable runtime for conversations with AI agents. It holds no code of its own: the
// kernel is in pkg/kernel, the facade for programs in pkg/sdk, the command in cmd/stepwell. Its tests hold what no single
// package can see: which package may import which, and that what the documents claim is tested.
package stepwell
