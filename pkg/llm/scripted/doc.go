// Package scripted has models that need no key and no network.
//
// [New] is the demonstration a newcomer meets first: provider "scripted", model "demo". It is deterministic: its answer
// depends on nothing but the request. It says that it is a script and not an AI, and shows each feature on command.
//
// [Play] is for tests: a provider that plays the responses it was given, step by step, and remembers what it was asked.
package scripted
