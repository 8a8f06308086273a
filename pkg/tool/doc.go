// Package tool defines what a model can call: a [Tool] with JSON Schema parameters, a replay policy and two functions, and
// a [Set] that finds tools by name and checks their arguments.
//
// A tool call ends in an [Outcome]. [Done] is its result. [Wait] parks the call: nothing runs while it waits, the process
// may exit, and whoever holds the session later calls [Tool.Wake] with what ended the wait. A tool therefore keeps nothing
// in memory between Execute and Wake.
package tool
