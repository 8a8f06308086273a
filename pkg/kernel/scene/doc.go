// Package scene plays the four scenes that the whole design is judged by, on any store and with the real kernel: three phones at once, a
// runner that dies between a tool's intent and its result, an answer an hour later, and one request per step. [Run] plays one and says what
// happens; an error says what should have happened and did not.
//
// [Script] is the turn of the scenes: a stand-in for model and tools whose answers depend on the conversation alone.
package scene
