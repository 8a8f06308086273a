// Package builtin holds the tools that come with Stepwell: [Ask] and [Wait], which park, and [Clock], [Note] and [Slow],
// with which the scripted model shows replay and progress. Fetching is in its own package, since it needs the network.
//
// The tools take their time from the call and their effects as functions, so they behave the same on any host.
package builtin
