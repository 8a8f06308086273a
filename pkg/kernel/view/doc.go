// Package view holds the projections: pure reads over a session that answer what a client, a model or an operator sees. They
// take a [store.Reader] or less, so that they cannot write (invariant 19).
//
//	Walk, Branch, IsAncestor      the commit graph, by parent only (invariant 41)
//	LoadContext, Messages         what a model is sent: always a valid request (Rule G)
//	LoadLanes, Pending            what is submitted and not yet landed (invariant 36)
//	Transcript                    turns, parts and markers for people (invariant 31)
//	Usage, ContextStatus          tokens and money
//	Changes, Tree, Snapshot       commits of a run, the forest, everything a client needs at one sequence number
package view
